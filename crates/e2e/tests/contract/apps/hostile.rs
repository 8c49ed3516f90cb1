//! Hostile apps, each beside an app that must not be affected, and what the journal has of them.

use crate::apps::setup::{Apps, Kind, LONG, Neighbour, Puppet, QUICK_END, SHORT, SOON, id};
use ostler_e2e::{Process, eventually};
use serde_json::{Value, json};

const HOSTILE: &str = "hostile";

/// A hostile app that the test controls, and its neighbour.
struct Beside {
    apps: Apps,
    neighbour: Neighbour,
    hostile: Puppet,
}

impl Beside {
    #[track_caller]
    fn with(body: &str) -> Self {
        let apps = Apps::new();
        Neighbour::add(&apps);
        apps.add(HOSTILE, Kind::Raw, &format!("{SOON}\n{QUICK_END}\n{body}"));
        apps.up();
        let neighbour = Neighbour::begin(&apps);
        let hostile = apps.puppet(HOSTILE);
        Self { apps, neighbour, hostile }
    }

    /// An app that is ready, with a long heartbeat timeout.
    #[track_caller]
    fn ready() -> Self {
        let mut beside = Self::with(LONG);
        beside.hostile.run("w = become_ready()");
        beside.apps.until_phase(HOSTILE, "ready");
        beside
    }

    /// Returns its `why`, and checks that the neighbour was not affected.
    #[track_caller]
    fn description(&mut self, text: &str) {
        self.apps.until_why(HOSTILE, text);
        self.neighbour.saw_no_heartbeat(&self.apps);
    }
}

/// A4, A12: registers as another app.
#[test]
fn it_claims_to_be_another_app() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    for _ in 0..3 {
        let answer = beside.hostile.eval("Wire().register(id='@e2e/neighbour')");
        assert_eq!(answer["error"]["code"], "FORBIDDEN", "{answer}");
    }
    // Neither on its own connection, nor with its own secret.
    let secret = "w.register(id='@e2e/neighbour', secret=os.environ['OPENCLAWOS_LAUNCH_SECRET'])";
    assert_eq!(beside.hostile.eval(secret)["error"]["code"], "FORBIDDEN");
    assert_eq!(beside.hostile.eval("w.ask('app.heartbeat')")["ok"], true);
    beside.description("it claimed to be \"@e2e/neighbour\", which is another app");
    let why = beside.apps.why(Neighbour::NAME);
    assert!(why.contains("claimed to be this app, but is not"), "{why}");
}

/// A4, A12: forges a token; and uses a stolen one, which is invalid on its own connection.
#[test]
fn it_forges_a_token() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    let stolen = beside.neighbour.token();
    beside.hostile.run(&format!(
        "stolen = '{stolen}'\n\
         mac = stolen.split('.')[1]\n\
         forged = [w.token.split('.')[0] + '.' + mac, stolen.split('.')[0] + '.' + w.token.split('.')[1], stolen[:-1] + 'g',\n\
         \x20   stolen + stolen, '.' + mac, '', 'x' * 1000]"
    ));
    let codes = "[w.code('app.shutdown', {'reason': 'forged'}, token=token) for token in forged + [stolen]]";
    assert_eq!(beside.hostile.eval(codes), json!(vec!["UNAUTHORIZED"; 8]));
    let codes =
        "[Wire().code('app.shutdown', {'reason': 'forged'}, token=token) for token in forged]";
    assert_eq!(beside.hostile.eval(codes), json!(vec!["UNAUTHORIZED"; 7]));
    beside.description("used the token of another app");
    let why = beside.apps.why(Neighbour::NAME);
    assert!(!why.contains("forged"), "{why}");
}

/// A3, A12: 2 MiB without a newline.
#[test]
fn it_sends_a_line_without_an_end() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    for _ in 0..3 {
        beside.hostile.run("bad = Wire()\ntry: bad.send(b'x' * (2 << 20))\nexcept OSError: pass");
        assert_eq!(beside.hostile.eval("bad.is_over()"), true);
    }
    assert_eq!(beside.hostile.eval("w.ask('app.heartbeat')")["ok"], true);
    beside.description("sent a line without an end, and was disconnected");
}

/// A3, A12: 100,000 messages a second, as fast as it can, on all its connections.
#[test]
fn it_floods_with_messages() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "def flood(wire):\n\
         \x20   text = (w.text('app.heartbeat') * 1000).encode()\n\
         \x20   def drain():\n\
         \x20       while wire.socket.recv(1 << 20): pass\n\
         \x20   threading.Thread(target=drain, daemon=True).start()\n\
         \x20   try:\n\
         \x20       while True: wire.socket.sendall(text)\n\
         \x20   except OSError: pass\n\
         for wire in [Wire() for _ in range(7)]:\n\
         \x20   threading.Thread(target=flood, args=(wire,), daemon=True).start()",
    );
    beside.description("sent more than 5000 requests per second");
    // It works on, and so does the neighbour.
    beside.neighbour.saw_no_heartbeat(&beside.apps);
    beside.apps.project.call(&["stop", HOSTILE]).ok();
    beside.neighbour.saw_no_heartbeat(&beside.apps);
}

/// A3, A12: a flood of empty lines, and of lines that are too long.
#[test]
fn it_floods_with_empty_and_long_lines() {
    ostler_e2e::needs!("python3");
    for text in ["b'\\n' * 65536", "b'x' * 600000 + b'\\n'"] {
        let mut beside = Beside::ready();
        beside.hostile.run(&format!(
            "wire, text = Wire(), {text}\n\
             def drain():\n\
             \x20   while wire.socket.recv(1 << 20): pass\n\
             def flood():\n\
             \x20   while True: wire.socket.sendall(text)\n\
             for work in (drain, flood): threading.Thread(target=work, daemon=True).start()"
        ));
        beside.description("app broke the socket protocol");
        beside.neighbour.saw_no_heartbeat(&beside.apps);
    }
}

/// A3, A12: half a message: its other connections are answered, and it is restarted for missing heartbeats.
#[test]
fn it_sends_half_a_message_and_hangs() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::with(SHORT);
    beside
        .hostile
        .run("w = become_ready(); text = w.text('app.heartbeat'); w.send(text[:len(text) // 2])");
    beside.hostile.until_gone();
    beside.description("heartbeats missed");
}

/// A3, A12: deeply nested JSON, and invalid UTF-8, in many forms.
#[test]
fn it_sends_deep_json_and_bad_text() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "lines = [b'[' * 200000, b'{\"a\":' * 40000, b'\"' + b'\\\\' * 100001, b'\\xff' * 100000, b'{\"id\":\"\\xc3\\x28\"}',\n\
         \x20   b'\\xed\\xa0\\x80', b'{\"id\":' + b'9' * 100000 + b'}', b'\\x00' * 1000, b'{\"id\":\"\\\\ud800\"}', b'1e999999999']\n\
         bad = Wire()\n\
         for line in lines: bad.send(line + b'\\n')",
    );
    let codes = beside.hostile.eval("[bad.answer()['error']['code'] for _ in lines]");
    assert_eq!(codes, json!(vec!["INVALID_REQUEST"; 10]));
    assert_eq!(beside.hostile.eval("bad.code('app.ready')"), "APP_NOT_REGISTERED");
    beside.description("sent an invalid request");
}

/// A3, A12: a thousand connections.
#[test]
fn it_opens_a_thousand_connections() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "import resource\n\
         hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n\
         resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))\n\
         many = [Wire() for _ in range(1000)]\n\
         refused = 0\n\
         for wire in many:\n\
         \x20   try: refused += wire.code('nothing') is None\n\
         \x20   except (Gone, OSError, AssertionError): refused += 1",
    );
    assert_eq!(beside.hostile.eval("refused"), 993);
    // Operators can connect as before.
    beside.apps.operator().ask("apps.list", json!({}));
    beside.description("an app may have at most 8 connections");
}

/// A2, A12: never registers.
#[test]
fn it_never_registers() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::with("ready = { register = \"300ms\" }");
    beside.hostile.until_gone();
    // The next one too.
    beside.apps.puppet(HOSTILE).until_gone();
    beside.description("app.register not called within 300 ms");
}

/// A4, A12: registers repeatedly, on the same and on other connections.
#[test]
fn it_registers_twice() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "for _ in range(200):\n\
         \x20   token = w.token\n\
         \x20   assert w.register()['result']['token'] == token\n\
         for _ in range(50):\n\
         \x20   before, w = w, Wire()\n\
         \x20   assert w.register()['result']['token'] == token\n\
         \x20   assert before.event()['event'] == 'superseded'\n\
         \x20   assert before.is_over()",
    );
    assert_eq!(beside.hostile.eval("w.ask('app.heartbeat')")["ok"], true);
    let info = beside.apps.info(HOSTILE);
    assert_eq!((&info["state"], &info["restartCount"]), (&json!("ready"), &json!(0)), "{info:#}");
    beside.description("registered");
}

/// A5, A12: closes its socket and goes on.
#[test]
fn it_closes_its_socket_and_goes_on() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::with(SHORT);
    beside.hostile.run("w = become_ready(); w.socket.close()");
    beside.hostile.until_gone();
    beside.description("heartbeats missed");
}

/// A7, A12: ignores shutdown, and every signal that can be ignored.
#[test]
fn it_ignores_shutdown() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "for n in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:\n\
         \x20   try: signal.signal(n, signal.SIG_IGN)\n\
         \x20   except OSError: pass",
    );
    let process = beside.apps.process(HOSTILE);
    beside.apps.project.call(&["stop", HOSTILE]).ok();
    assert!(!process.is_alive());
    let why = beside.apps.why(HOSTILE);
    assert!(why.contains("exit requested over the app socket"), "{why}");
    beside.description("KILL");
}

/// A8, A12: leaks descriptors: it gets no more than its limit.
#[test]
fn it_leaks_descriptors() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::with(&format!("{LONG}\nlimits = {{ fds = 64 }}"));
    beside.hostile.run(
        "import resource\n\
         w = become_ready()\n\
         leaked = []\n\
         try:\n\
         \x20   while True: leaked.append(os.dup(0))\n\
         except OSError as error: failed = error.errno",
    );
    assert_eq!(beside.hostile.eval("failed"), 24);
    assert!(beside.hostile.eval("len(leaked)").as_u64() < Some(64));
    assert_eq!(beside.hostile.eval("resource.getrlimit(resource.RLIMIT_NOFILE)"), json!([64, 64]));
    // Its connections still work, and it can read its limit.
    assert_eq!(beside.hostile.eval("w.ask('app.heartbeat')")["ok"], true);
    beside.neighbour.saw_no_heartbeat(&beside.apps);
    let info = beside.apps.info(HOSTILE);
    assert_eq!(info["state"], "ready", "{info:#}");
    assert!(info["usage"]["descriptors"].as_u64() >= Some(60), "{info:#}");
}

/// A7, A12: double-forks with its own session: the descendant is found and ended with the app.
#[test]
fn it_double_forks() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "read, write = os.pipe()\n\
         if os.fork() == 0:\n\
         \x20   os.setsid()\n\
         \x20   if os.fork() > 0: os._exit(0)\n\
         \x20   for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(n, signal.SIG_IGN)\n\
         \x20   os.write(write, str(os.getpid()).encode() + b'\\n')\n\
         \x20   for fd in range(3, 64):\n\
         \x20       try: os.close(fd)\n\
         \x20       except OSError: pass\n\
         \x20   while True: time.sleep(100)\n\
         os.wait()",
    );
    let away = beside.hostile.eval("int(os.read(read, 100))").as_i64().expect("a pid") as i32;
    let away = Process::find(away).expect("the descendant is running");
    // Its first process exits; the remaining processes are ended before the restart.
    beside.hostile.begin("os._exit(1)");
    away.wait_gone();
    let mut again = beside.apps.puppet(HOSTILE);
    again.run("w = become_ready()");
    assert_eq!(beside.apps.until_phase(HOSTILE, "ready")["restartCount"], 1);
    beside.description("exit 1");
}

/// A3, A12: never reads its answers. It does not delay others, and is restarted for missing heartbeats.
#[test]
fn it_never_reads_its_answers() {
    ostler_e2e::needs!("python3");
    let mut beside =
        Beside::with("heartbeat = { interval = \"100ms\", timeout = \"2s\", misses = 20 }");
    beside.hostile.run(
        "w = become_ready()\n\
         def push():\n\
         \x20   text = (w.text('app.heartbeat') * 100).encode()\n\
         \x20   w.socket.settimeout(None)\n\
         \x20   try:\n\
         \x20       while True: w.socket.sendall(text)\n\
         \x20   except OSError: pass\n\
         threading.Thread(target=push, daemon=True).start()",
    );
    let process = beside.apps.process(HOSTILE);
    beside.neighbour.saw_no_heartbeat(&beside.apps);
    // Both buffers are full: it is not read, so it counts as silent, and is restarted.
    process.wait_gone();
    beside.description("heartbeats missed");
}

/// A7, A12: never reads its shutdown event: it is killed after its timeout.
#[test]
fn it_never_reads_its_shutdown_event() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "def push():\n\
         \x20   text = (w.text('config.get') * 100).encode()\n\
         \x20   w.socket.settimeout(None)\n\
         \x20   try:\n\
         \x20       while True: w.socket.sendall(text)\n\
         \x20   except OSError: pass\n\
         signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         threading.Thread(target=push, daemon=True).start()",
    );
    beside.neighbour.saw_no_heartbeat(&beside.apps);
    let process = beside.apps.process(HOSTILE);
    beside.apps.operator().ask("apps.stop", json!({ "packageId": id(HOSTILE) }));
    assert!(!process.is_alive());
    beside.description("KILL");
}

/// A8, A12: eats memory.
#[test]
fn it_eats_memory() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::with(&format!("{LONG}\nlimits = {{ memory = \"96M\" }}"));
    beside.hostile.run("w = become_ready()");
    beside.apps.until_phase(HOSTILE, "ready");
    let eat = "held = []\nwhile True: held.append(bytearray(4 << 20)); time.sleep(0.005)";
    beside.hostile.begin(eat);
    beside.hostile.until_gone();
    let mut again = beside.apps.puppet(HOSTILE);
    again.run("w = become_ready()");
    beside.description("memory");
    let info = beside.apps.until_phase(HOSTILE, "ready");
    let description = info["ends"][0]["description"].as_str().expect("words");
    assert!(description.contains("memory"), "{info:#}");
}

/// A12: crashes as fast as it can.
#[test]
fn it_crashes_repeatedly() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::with(LONG);
    beside.hostile.begin("os.abort()");
    for _ in 0..20 {
        beside.apps.puppet(HOSTILE).begin("os.kill(os.getpid(), 11)");
    }
    eventually("all crashes are counted", || {
        (beside.apps.info(HOSTILE)["restartCount"].as_u64() >= Some(20)).then_some(())
    });
    beside.description("signal 11");
}

/// A12: floods its log.
#[test]
fn it_floods_its_log() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    beside.hostile.run(
        "def write():\n\
         \x20   text = b'y' * 199 + b'\\n'\n\
         \x20   while True: os.write(1, text * 300)\n\
         threading.Thread(target=write, daemon=True).start()",
    );
    eventually("some output is stored", || {
        let lines = beside
            .apps
            .operator()
            .ask("apps.logs", json!({ "packageId": id(HOSTILE), "lines": 1000 }));
        (lines["lines"].as_array().map(Vec::len) == Some(1000)).then_some(())
    });
    beside.neighbour.saw_no_heartbeat(&beside.apps);
    let info = beside.apps.info(HOSTILE);
    assert_eq!((&info["state"], &info["lastError"]), (&json!("ready"), &Value::Null), "{info:#}");
    beside.description("ready");
}

/// A10, A12: an app cannot call operator methods, in any way.
#[test]
fn it_calls_operator_methods() {
    ostler_e2e::needs!("python3");
    let mut beside = Beside::ready();
    for method in [
        "apps.list",
        "apps.info",
        "apps.logs",
        "apps.start",
        "apps.stop",
        "apps.restart",
        "apps.subscribe",
    ] {
        for wire in ["w", "Wire()"] {
            let code = beside
                .hostile
                .eval(&format!("{wire}.code('{method}', {{'packageId': '@e2e/neighbour'}})"));
            assert_eq!(code, "FORBIDDEN", "{wire} {method}");
        }
    }
    // Not through a child either.
    beside.hostile.run(
        "import subprocess\n\
         code = 'import json, os, socket\\ns = socket.socket(socket.AF_UNIX); s.connect(os.environ[\"OPENCLAWOS_SOCKET\"])\\n' \\\n\
         \x20   's.sendall(json.dumps({\"id\": \"1\", \"type\": \"request\", \"method\": \"apps.list\"}).encode() + b\"\\\\n\")\\n' \\\n\
         \x20   'print(s.recv(65536).decode())'\n\
         out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, start_new_session=True).stdout",
    );
    let out = beside.hostile.eval("json.loads(out)");
    assert_eq!(out["error"]["code"], "FORBIDDEN", "{out}");
    beside.neighbour.saw_no_heartbeat(&beside.apps);
}
