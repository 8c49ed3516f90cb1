//! Real engines, without a registry and without the machine's own: each has a folder, a socket and an image of its own.
//! Without an engine the test is skipped with the reason.

use crate::units::setup::Project;
use ostler_e2e::{Process, Signal, eventually, is_installed, skipped};
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Docker,
    Podman,
}

/// An engine. It is ended, and its folder removed, when the last test drops it.
pub struct Engine {
    pub kind: Kind,
    folder: PathBuf,
    shell: Mutex<Option<(Child, ChildStdin)>>,
}

const APPLETS: &str = "sh sleep cat echo ls test kill ps head seq touch date usleep rm mkdir env true false trap awk dd \
                       wc tail grep setsid printf";

fn shared(kind: Kind) -> Result<&'static Engine, String> {
    static DOCKER: OnceLock<Result<Engine, String>> = OnceLock::new();
    static PODMAN: OnceLock<Result<Engine, String>> = OnceLock::new();
    let engine = match kind {
        Kind::Docker => &DOCKER,
        Kind::Podman => &PODMAN,
    };
    engine.get_or_init(|| Engine::new(kind)).as_ref().map_err(Clone::clone)
}

/// The engine that tests share, or `None` with the reason printed.
pub fn engine(kind: Kind) -> Option<&'static Engine> {
    shared(kind).map_err(|why| skipped(&format!("no {kind:?} here: {why}"))).ok()
}

/// An engine for this test alone, which may be stopped and frozen.
pub fn own_engine(kind: Kind) -> Option<Engine> {
    Engine::new(kind).map_err(|why| skipped(&format!("no {kind:?} here: {why}"))).ok()
}

impl Engine {
    fn new(kind: Kind) -> Result<Self, String> {
        let needed: &[&str] = match kind {
            Kind::Docker => &["dockerd", "docker", "busybox"],
            Kind::Podman => &["podman", "runc", "busybox"],
        };
        if let Some(missing) = needed.iter().find(|program| !is_installed(program)) {
            return Err(format!("{missing} is not installed"));
        }
        let folder = tempfile::Builder::new().prefix("oc").tempdir().expect("a folder").keep();
        let engine = Self { kind, folder, shell: Mutex::new(None) };
        engine.write_configuration();
        engine.start()?;
        engine.import()?;
        Ok(engine)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("text").to_owned()
    }

    pub fn address(&self) -> String {
        format!("unix://{}", self.path("e.sock"))
    }

    pub fn image(&self) -> &'static str {
        match self.kind {
            Kind::Docker => "bb:1",
            Kind::Podman => "localhost/bb:1",
        }
    }

    /// The variables that make ostler use this engine only.
    pub fn variables(&self) -> Vec<(String, String)> {
        let address = self.address();
        let (runtime, host) = match self.kind {
            Kind::Docker => ("docker", "DOCKER_HOST"),
            Kind::Podman => ("podman", "CONTAINER_HOST"),
        };
        vec![
            ("CONTAINER_RUNTIME".to_owned(), runtime.to_owned()),
            (host.to_owned(), address),
            ("CONTAINERS_CONF".to_owned(), self.path("containers.conf")),
        ]
    }

    /// The variables that make ostler use podman without a service.
    pub fn unserved(&self) -> Project {
        self.stop();
        let d = self.folder.display();
        // As the engine had it: a stored path cannot change later.
        let text =
            format!("[storage]\ndriver = \"\"\ngraphroot = \"{d}/root\"\nrunroot = \"{d}/run\"\n");
        std::fs::write(self.path("storage.conf"), text).expect("written");
        self.project_with(vec![
            ("CONTAINER_RUNTIME".to_owned(), "podman".to_owned()),
            ("CONTAINERS_CONF".to_owned(), self.path("containers.conf")),
            ("CONTAINERS_STORAGE_CONF".to_owned(), self.path("storage.conf")),
            ("XDG_RUNTIME_DIR".to_owned(), self.path("xdg")),
        ])
    }

    /// Processes with its folder in their arguments: the engine, and its helpers beside containers.
    pub fn processes(&self) -> Vec<i32> {
        let folder = self.folder.as_os_str().as_encoded_bytes();
        let pids = std::fs::read_dir("/proc").expect("readable").flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_its = |pid: &i32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.windows(folder.len()).any(|part| part == folder)
        };
        pids.filter(is_its).collect()
    }

    pub fn project(&self) -> Project {
        self.project_with(self.variables())
    }

    fn project_with(&self, mut variables: Vec<(String, String)>) -> Project {
        let (name, value) = crate::daemon::setup::QUICK;
        variables.push((name.to_owned(), value.to_owned()));
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        Project::with(&variables)
    }

    /// A unit that runs this script.
    pub fn unit(&self, script: &str, more: &str) -> String {
        let image = self.image();
        format!(
            "backend = \"container\"\nimage = \"{image}\"\nnetwork = \"none\"\n\
             command = [\"/bin/sh\", \"-c\", {script:?}]\n{more}"
        )
    }

    fn write_configuration(&self) {
        // By default two podmans share their locks and their run folder.
        let d = self.folder.display();
        let text = format!(
            "[containers]\ndefault_ulimits = [\"nofile=20000:20000\",\"nproc=1000:1000\"]\nnetns = \"none\"\n\
             [engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n\
             lock_type = \"file\"\nexit_command_delay = 1\ntmp_dir = \"{d}/tmp\"\n"
        );
        std::fs::write(self.path("containers.conf"), text).expect("written");
    }

    /// Makes podman's conmon skip its cleanup command, from the next start on.
    pub fn without_clearing(&self) {
        let script = "#!/bin/sh\n[ \"$1\" = --version ] || set -- \"$@\" --exit-command /bin/true\nexec conmon \"$@\"\n";
        let path = self.path("conmon");
        std::fs::write(&path, script).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        let mut text = std::fs::read_to_string(self.path("containers.conf")).expect("written");
        text += &format!("conmon_path = [\"{path}\"]\n");
        std::fs::write(self.path("containers.conf"), text).expect("written");
    }

    /// A shell ends it when our end of its input is closed: also when the tests are killed.
    pub fn start(&self) -> Result<(), String> {
        let d = self.folder.display();
        let engine = match self.kind {
            Kind::Docker => format!(
                "dockerd --live-restore --bridge=none --iptables=false --ip6tables=false --data-root {d}/data \
                 --exec-root {d}/exec -H unix://{d}/e.sock --pidfile {d}/e.pid"
            ),
            Kind::Podman => format!(
                "podman --root {d}/root --runroot {d}/run system service --time=0 unix://{d}/e.sock"
            ),
        };
        let cli = match self.kind {
            Kind::Docker => format!("docker -H unix://{d}/e.sock"),
            Kind::Podman => format!("podman --root {d}/root --runroot {d}/run"),
        };
        let script = format!(
            "cd {d}; {engine} > {d}/log 2>&1 < /dev/null & echo $! > {d}/engine; read _; kill -CONT $!; \
             [ -e {d}/stay ] || timeout 20 {cli} rm -f $({cli} ps -aq) > /dev/null 2>&1; kill $!; \
             n=0; while kill -0 $! 2>/dev/null && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done; \
             [ -e {d}/stay ] && exit; \
             grep ' {d}/' /proc/mounts | cut -d ' ' -f 2 | sort -r | while read m; do umount -l $m; done; \
             rm -rf {d}"
        );
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).env("CONTAINERS_CONF", self.path("containers.conf"));
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut shell = shell.spawn().map_err(|error| error.to_string())?;
        let input = shell.stdin.take().expect("piped");
        *self.shell.lock().expect("whole") = Some((shell, input));
        for _ in 0..200 {
            if self.cli(&["ps"]).is_ok()
                && std::os::unix::net::UnixStream::connect(self.path("e.sock")).is_ok()
            {
                return Ok(());
            }
            // The polling interval: no event says that the engine is ready.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let log = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(3).collect();
        Err(format!("the engine does not answer: {last:?}"))
    }

    /// Stops the engine; its containers go on.
    pub fn stop(&self) {
        std::fs::write(self.path("stay"), "").expect("written");
        if let Some((mut shell, input)) = self.shell.lock().expect("whole").take() {
            drop(input);
            let _ = shell.wait();
        }
        std::fs::remove_file(self.path("stay")).expect("removed");
        let _ = std::fs::remove_file(self.path("e.sock"));
    }

    /// The engine itself, which may be frozen.
    pub fn process(&self) -> Process {
        let text = std::fs::read_to_string(self.path("engine")).expect("its pid");
        Process::find(text.trim().parse().expect("a pid")).expect("the engine runs")
    }

    pub fn freeze(&self) {
        self.process().signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.process().signal(Signal::CONT);
    }

    fn import(&self) -> Result<(), String> {
        let script = format!(
            "mkdir -p r/bin r/tmp && cp $(command -v busybox) r/bin/busybox && \
             for a in {APPLETS}; do ln -sf busybox r/bin/$a; done && tar -C r -cf image.tar ."
        );
        let made = Command::new("sh").args(["-c", &script]).current_dir(&self.folder).status();
        if !made.is_ok_and(|made| made.success()) {
            return Err("an image cannot be made".to_owned());
        }
        self.cli(&["import", &self.path("image.tar"), self.image()]).map(drop)
    }

    /// The engine's own command, as a user has it.
    pub fn cli(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = match self.kind {
            Kind::Docker => {
                let mut command = Command::new("docker");
                command.args(["-H", &self.address()]);
                command
            }
            Kind::Podman => {
                let mut command = Command::new("podman");
                command.args(["--root", &self.path("root"), "--runroot", &self.path("run")]);
                command.env("CONTAINERS_CONF", self.path("containers.conf"));
                command
            }
        };
        command.env_remove("DOCKER_HOST").env_remove("CONTAINER_HOST").stdin(Stdio::null());
        let output = command.args(arguments).output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        self.cli(arguments).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
    }

    /// Every container of this project, running or not, by the labels.
    pub fn of_project(&self, project: &Project) -> Vec<String> {
        let home = std::fs::read_to_string(project.home.file("instance")).unwrap_or_default();
        let filter = format!("label=ostler.home={}", home.trim());
        let listed = self.ok(&["ps", "-a", "--no-trunc", "-q", "--filter", &filter]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Every running container of this project.
    pub fn running_of_project(&self, project: &Project) -> Vec<String> {
        let home = std::fs::read_to_string(project.home.file("instance")).unwrap_or_default();
        let filter = format!("label=ostler.home={}", home.trim());
        let listed = self.ok(&["ps", "--no-trunc", "-q", "--filter", &filter]);
        listed.lines().map(str::to_owned).collect()
    }

    /// The one container of a unit.
    #[track_caller]
    pub fn id(&self, project: &Project, unit: &str) -> String {
        let home = std::fs::read_to_string(project.home.file("instance")).unwrap_or_default();
        let home = format!("label=ostler.home={}", home.trim());
        let unit = format!("label=ostler.unit={unit}");
        let all = ["ps", "-a", "--no-trunc", "-q", "--filter", &home, "--filter", &unit];
        let listed = self.ok(&all);
        let found: Vec<&str> = listed.lines().collect();
        assert_eq!(found.len(), 1, "one container of {unit}: {found:?}");
        found[0].to_owned()
    }

    pub fn inspect(&self, id: &str) -> Value {
        let text = self.ok(&["inspect", id]);
        let all: Value = serde_json::from_str(&text).expect("JSON");
        all[0].clone()
    }

    /// The first process of a container, as we see it.
    pub fn root(&self, id: &str) -> Process {
        let pid = self.inspect(id)["State"]["Pid"].as_i64().expect("a pid") as i32;
        Process::find(pid).expect("the container's process is running")
    }

    /// Waits for another container of the unit, which runs.
    #[track_caller]
    pub fn next_id(&self, project: &Project, unit: &str, old: &str) -> String {
        project.until(unit, "running in another container", |view| view["state"] == "ready");
        eventually("another container", || {
            let view = project.find(unit)?;
            (view["state"] == "ready").then_some(())?;
            let id = std::panic::catch_unwind(|| self.id(project, unit)).ok()?;
            (id != old).then_some(id)
        })
    }
}

impl std::panic::RefUnwindSafe for Engine {}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Ok(mut shell) = self.shell.lock()
            && let Some((mut shell, mut input)) = shell.take()
        {
            let _ = input.write_all(b"\n");
            drop(input);
            let _ = shell.wait();
        } else {
            let _ = self.cli(&["rm", "-f", "-a"]);
            let d = self.folder.display();
            let script = format!(
                "grep ' {d}/' /proc/mounts | cut -d ' ' -f 2 | sort -r | while read m; do umount -l $m; done; rm -rf {d}"
            );
            let _ = Command::new("sh").args(["-c", &script]).status();
        }
    }
}

/// One behaviour, on both engines.
macro_rules! on_each_engine {
    ($(#[$doc:meta])* $behaviour:ident: $docker:ident $podman:ident) => {
        $(#[$doc])*
        #[test]
        fn $docker() {
            if let Some(engine) = $crate::containers::setup::engine($crate::containers::setup::Kind::Docker) {
                $behaviour(engine);
            }
        }

        $(#[$doc])*
        #[test]
        fn $podman() {
            if let Some(engine) = $crate::containers::setup::engine($crate::containers::setup::Kind::Podman) {
                $behaviour(engine);
            }
        }
    };
}

/// The same, each with an engine of its own.
macro_rules! on_each_own_engine {
    ($(#[$doc:meta])* $behaviour:ident: $docker:ident $podman:ident) => {
        $(#[$doc])*
        #[test]
        fn $docker() {
            if let Some(engine) = $crate::containers::setup::own_engine($crate::containers::setup::Kind::Docker) {
                $behaviour(&engine);
            }
        }

        $(#[$doc])*
        #[test]
        fn $podman() {
            if let Some(engine) = $crate::containers::setup::own_engine($crate::containers::setup::Kind::Podman) {
                $behaviour(&engine);
            }
        }
    };
}

pub(crate) use {on_each_engine, on_each_own_engine};
