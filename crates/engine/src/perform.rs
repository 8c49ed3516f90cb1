//! Carrying out what was decided. What comes of it goes back as an event.

use crate::adapters;
use crate::commit::Durable;
use crate::dispatcher::{Supervisor, now};
use crate::guarding::{sources, status_of};
use crate::handle::{Cancelled, SpawnRefused};
use crate::inheritance::End;
use crate::input::Input;
use crate::live::{LiveRun, survey};
use crate::output::{NewLog, OutputState, Resumed, Screen, end_on_disk};
use ostler_core::{Action, Event, Identity, Reach, Refusal, Signal};
use ostler_model::{Backend, RunId, RunRecord, RunSpec, SpawnErrorKind, What};
use ostler_os::{
    Allocated, Interest, Launch, Process, Program, ScopeRoom, SpawnError, SpawnStage, Stdio,
};
use ostler_registry::Theft;
use serde_json::json;
use std::cell::OnceCell;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::sync::Mutex;

/// Pruning is done when this part of the history has been added to it.
const PRUNE_EVERY: u64 = 10;
const PRUNE_MOST: u64 = 1_000;

impl Supervisor {
    pub(crate) fn perform(&mut self, action: Action, durable: Durable) {
        match action {
            Action::Save(_)
            | Action::Note(_)
            | Action::Count(..)
            | Action::SaveUnit(_)
            | Action::RemoveUnit(_)
            | Action::EndRun { .. } => {}
            Action::Launch(unit) => self.launch(&unit),
            Action::Tell { unit, condition, why } => self.tell_hook(&unit, condition, &why),
            Action::CheckReady { unit, run } => self.check_ready(unit, run),
            Action::CheckHealth { unit, run } => self.check_health(unit, run),
            Action::Spawn(run) => match durable {
                Durable::No if self.is_owed(run) => self.refuse_unrecorded(run),
                // The intent of one that waited for its place was written when it came.
                Durable::Yes | Durable::No if self.is_still_ours(run) => self.spawn(run),
                // Another supervisor settled the intent while we stood still.
                Durable::Yes | Durable::No => {}
            },
            Action::Adopt(record) => self.adopt(&record),
            // It may have come to its end later in the same turn: then nobody is signalled.
            Action::Signal { run, signal, reach } => {
                if self.world.record(run).is_some() {
                    self.signal(run, signal, reach);
                }
            }
            Action::Watch(run) => self.watch_or_tell(run),
            Action::LetGo(run) => self.let_go(run),
            Action::Finish(record) => self.finish_run(*record),
            Action::Abandon(run) => self.abandon(run),
            Action::Started(run) => {
                if let Some(reply) = self.spawn_replies.remove(&run)
                    && let Some(record) = self.world.record(run)
                {
                    let _ = reply.send(Ok(self.shown(record)));
                }
            }
            Action::Refuse { run, refusal: Refusal::ShuttingDown } => {
                self.drop_live(run);
                self.answer_in_vain(run);
                if let Some(reply) = self.spawn_replies.remove(&run) {
                    let _ = reply.send(Err(SpawnRefused::ShuttingDown));
                }
            }
            Action::RenewLease => self.renew_lease(),
            Action::Steal { record, seen } => self.steal(*record, seen),
            Action::Stop => self.stopped = true,
        }
    }

    fn is_owed(&self, run: RunId) -> bool {
        self.owed.runs.iter().any(|record| record.run_id == run)
    }

    /// The intent is not on disk, so nothing is executed and nothing is remembered.
    fn refuse_unrecorded(&mut self, run: RunId) {
        self.owed.forget(run);
        self.drop_live(run);
        let message = self.registry_error.clone().unwrap_or_default();
        if let Some(reply) = self.spawn_replies.remove(&run) {
            let _ = reply.send(Err(SpawnRefused::Registry { message }));
        }
        self.answer_in_vain(run);
        self.events.push_back(Event::IntentLost { run });
    }

    /// Whoever waits for a run that will never be.
    fn answer_in_vain(&mut self, run: RunId) {
        for waiter in self.waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(Cancelled::NotLive);
        }
    }

    /// We may have been stopped for longer than our lease between the commit and now.
    fn is_still_ours(&mut self, run: RunId) -> bool {
        if self.world.holds_lease(now()) {
            return true;
        }
        self.renew_lease();
        self.registry.owned(self.instance).is_ok_and(|owned| owned.contains(&run))
    }

    fn spawn(&mut self, run: RunId) {
        let event = match self.try_spawn(run) {
            Ok(identity) => Event::Spawned { run, identity },
            Err(error) => Event::SpawnFailed { run, kind: error.kind, error: error.message },
        };
        let is_silent = self.live.get(&run).is_some_and(|live| live.output.is_ended());
        self.events.push_back(event);
        if is_silent {
            self.events.push_back(Event::OutputEnded { run });
        }
    }

    fn try_spawn(&mut self, run: RunId) -> Result<Identity, SpawnError> {
        let spec = self
            .live
            .get_mut(&run)
            .and_then(|live| live.spec.take())
            .or_else(|| {
                let unit = self.world.record(run)?.unit.as_deref()?;
                self.copy_of(unit, run).map(Box::new)
            })
            .ok_or_else(|| SpawnError::new(SpawnStage::Prepare, 0, "run", "", false))?;
        let prepared = |error: io::Error| prepare_error(&spec, error);
        let tag = RunSpec::run_id_variable(run);
        let environment = environment_of(&spec, &tag).map_err(prepared)?;
        let name = spec.argv.first().map(|name| name.as_bytes()).unwrap_or_default();
        let program = Program::find(name, &environment).map_err(prepared)?;
        let arguments = spec
            .argv
            .iter()
            .map(|argument| c_string(argument.as_bytes()))
            .collect::<io::Result<Vec<_>>>()
            .map_err(prepared)?;
        let directory = c_string(spec.cwd.as_bytes()).map_err(prepared)?;
        let connection = adapters::connect(&spec).map_err(prepared)?;
        let limits = self.world.record(run).and_then(|record| record.enforced.clone());
        let is_passing = self.is_passing(run);
        let mut scope = if is_passing {
            self.room.make_passing(&run.to_string(), &tag, limits.as_deref())
        } else {
            self.room.make(&run.to_string(), &tag, limits.as_deref())
        };
        if let Some(note) = self.world.record(run).and_then(|record| self.seat_note_of(record)) {
            // Whoever sat there before is not this run's.
            let _ = std::fs::remove_file(&note);
            scope.sit_at(note);
        }
        self.keep_ends(run, &connection.ends);
        let launched = self.launcher.launch(
            &Launch {
                program,
                arguments,
                environment,
                directory,
                stdio: match &connection.theirs {
                    Some(theirs) => Stdio::Given(theirs.each_ref().map(AsFd::as_fd)),
                    None => Stdio::Nothing,
                },
                terminal: spec.backend == Backend::Pty,
                umask: spec.umask,
                descriptors: descriptors_of(spec.resources.descriptors, self.descriptors),
                is_recorded: !is_passing,
            },
            &mut scope,
        );
        let launched = match launched {
            Ok(launched) => launched,
            Err(error) => {
                self.room.take_back(scope);
                if !is_passing {
                    self.let_go_ends(run, &connection.ends);
                }
                return Err(error);
            }
        };
        if !is_passing {
            let pid = launched.process.fingerprint().pid;
            self.guarding.keeper.keep_process(run, pid, &launched.process);
        }
        let fingerprint = launched.process.fingerprint().clone();
        let Some(live) = self.live.get_mut(&run) else {
            return Err(SpawnError::new(SpawnStage::Prepare, 0, "run", "", false));
        };
        if connection.theirs.is_some() {
            self.drain.add(NewLog {
                run,
                state: Arc::clone(&live.output),
                sources: sources(&connection.ends),
                most_bytes: self.settings.log_bytes,
                resumed: None,
            });
        } else {
            live.output.end();
        }
        let identity = Identity {
            process_group_id: fingerprint.pid,
            cgroup: scope.boundary(),
            enforced: scope.enforced().map(|held| Box::new(held.clone())),
            fingerprint,
        };
        self.limit_watch.add(run, scope.memory_alarm(&tag, identity.fingerprint.pid));
        live.leader = identity.fingerprint.pid;
        live.process = Some(launched.process);
        live.scope = Some(scope);
        live.input = Arc::new(connection.input);
        live.ends = connection.ends;
        self.leaders.insert(identity.fingerprint.pid, run);
        Ok(identity)
    }

    /// Takes up a run that an earlier supervisor started: its process if it lives, its scope in any case.
    fn adopt(&mut self, record: &RunRecord) {
        let run = record.run_id;
        let token = self.new_token(run);
        let held = self.guarding.inheritance.take_end(run, End::Process);
        let process = match (record.fingerprint(), held) {
            (Some(fingerprint), Some(held)) => Some(Process::held(held, fingerprint)),
            (Some(fingerprint), None) => {
                let process = Process::open(&fingerprint);
                if let Some(process) = &process {
                    self.guarding.keeper.keep_process(run, fingerprint.pid, process);
                }
                process
            }
            (None, _) => None,
        };
        if let Some(process) = &process {
            let _ = self.poller.add(process, token, Interest::Readable);
        }
        let tag = RunSpec::run_id_variable(run);
        let mut scope =
            ScopeRoom::reopen(record.cgroup.as_deref(), &tag, record.enforced.as_deref());
        if let Some(note) = self.seat_note_of(record) {
            scope.sit_at(note);
        }
        let leader = record.process_group_id.or(record.pid).unwrap_or(0);
        self.limit_watch.add(run, scope.memory_alarm(&tag, leader));
        let is_gone = process.is_none();
        let (ends, input) = self.take_ends(run);
        let output = self.resumed_output(record, &ends);
        self.live.insert(
            run,
            LiveRun {
                run,
                spec: None,
                leader,
                process,
                scope: Some(scope),
                watch: None,
                output: Arc::clone(&output),
                input: Arc::new(input),
                ends: ends.clone(),
                root_gone: is_gone,
                is_adopted: true,
                is_passing: false,
                asked: None,
                token,
            },
        );
        let sources = sources(&ends);
        if !sources.is_empty() {
            self.drain.add(NewLog {
                run,
                state: output,
                sources,
                most_bytes: self.settings.log_bytes,
                resumed: Some(Resumed { leftover: self.guarding.leftover_of(run) }),
            });
        }
        if is_gone {
            // It may have ended between the look and now; nobody else would tell.
            let tree = self.survey(run);
            let ending = record.pid.and_then(|pid| self.guarding.end_of(pid));
            self.events.push_back(Event::RootExited { run, status: status_of(ending), tree });
        }
    }

    /// Its stdin, its output, its terminal, as somebody held them for us.
    fn take_ends(&mut self, run: RunId) -> (Vec<(End, Arc<OwnedFd>)>, Input) {
        let mut ends = Vec::new();
        let mut input = Input::Closed;
        // What it said while nobody listened is in there.
        if let Some(word) = self.guarding.inheritance.take_end(run, End::Word) {
            self.guarding.words.insert(run, word);
        }
        for end in [End::Input, End::Stdout, End::Stderr, End::Terminal] {
            let Some(descriptor) = self.guarding.inheritance.take_end(run, end) else { continue };
            let descriptor = Arc::new(descriptor);
            match end {
                End::Input => input = Input::Pipe(Mutex::new(Some(Arc::clone(&descriptor)))),
                End::Terminal => {
                    let master = Arc::clone(&descriptor);
                    input = Input::Terminal { master, turn: Mutex::new(()) };
                }
                End::Stdout | End::Stderr | End::Process | End::Word => {}
            }
            ends.push((end, descriptor));
        }
        (ends, input)
    }

    fn resumed_output(&self, record: &RunRecord, ends: &[(End, Arc<OwnedFd>)]) -> Arc<OutputState> {
        let folder = self.home.run_folder(record.run_id);
        let is_heard = ends.iter().any(|(end, _)| *end != End::Input);
        if !is_heard {
            return Arc::new(OutputState::of_ended(folder, record.output_bytes));
        }
        let terminal = ends.iter().find(|(end, _)| *end == End::Terminal);
        let size = terminal.and_then(|(_, master)| ostler_os::terminal_size(&**master));
        let written = end_on_disk(&folder).max(record.output_bytes);
        Arc::new(OutputState::resumed(
            folder,
            written,
            terminal.map(|_| Screen::undrawn(size.unwrap_or_default())),
            record.last_output_at_ms,
        ))
    }

    fn signal(&mut self, run: RunId, signal: Signal, reach: Reach) {
        if (signal, reach) == (Signal::Term, Reach::Tree) {
            if self.ask_app_to_end(run) {
                return;
            }
            self.note_term(run);
        }
        self.census = OnceCell::new();
        let Some(live) = self.live.get(&run) else { return };
        let Some(scope) = &live.scope else { return };
        let process = live.process.as_ref();
        let report = match (signal, reach) {
            (Signal::Term, Reach::Tree) => {
                let record = self.world.record(run);
                if record.is_some_and(|record| record.backend_id == Backend::Container) {
                    // The shim tells the container, in its own words, and ends what it has beside itself.
                    let alone = ostler_os::Members::default();
                    scope.ask_to_end(ostler_os::Signal::Term, process, &alone);
                    return;
                }
                // As its unit is declared now, which may have changed since it was started.
                let unit = record.and_then(|record| self.world.unit(record.unit.as_deref()?));
                let asked = match unit {
                    Some(unit) => Some(unit.spec.stop.signal),
                    None => record.and_then(|record| record.stop_signal),
                };
                let signal = asked.map_or(ostler_os::Signal::Term, ostler_os::Signal::Other);
                let backend = record.map(|record| record.backend_id);
                let is_alive = process.is_some_and(|process| !process.has_ended());
                match backend {
                    // A shim knows whom to ask, with what, and in which order: asked twice may mean something else.
                    Some(Backend::Tmux | Backend::Container) if is_alive => {
                        let nobody = ostler_os::Members::default();
                        scope.ask_to_end(ostler_os::Signal::Term, process, &nobody);
                    }
                    Some(_) | None => scope.ask_to_end(signal, process, &self.members(live)),
                }
                return;
            }
            (Signal::Term | Signal::Kill, Reach::Outside) => {
                scope.kill_outside(&self.members(live))
            }
            (Signal::Kill, Reach::Tree) => scope.kill_all(process, || self.members(live)),
        };
        if report.processes > 0 {
            self.events.push_back(Event::Killed {
                run,
                mode: report.mode,
                processes: report.processes,
            });
        }
    }

    fn note_term(&mut self, run: RunId) {
        let Some(record) = self.world.record(run) else { return };
        let (grace_ms, group) = (record.grace_ms, record.process_group_id);
        let why = format!("it has {grace_ms} ms to end by itself");
        let evidence = json!({ "graceMs": grace_ms, "processGroupId": group });
        self.run_entry(run, What::TermSent, &why, evidence);
    }

    /// If it is empty already, there will be no change to be told of.
    fn watch_or_tell(&mut self, run: RunId) {
        self.watch(run);
        let tree = self.survey(run);
        if tree.is_empty() {
            self.events.push_back(Event::Surveyed { run, tree });
        }
    }

    pub(crate) fn watch(&mut self, run: RunId) {
        let Some(live) = self.live.get(&run).filter(|live| live.watch.is_none()) else { return };
        let Some(scope) = &live.scope else { return };
        let watch = scope.watch(|| self.members(live));
        let token = live.token + 1;
        for (source, interest) in &watch.sources {
            let _ = self.poller.add(source, token, *interest);
        }
        if let Some(live) = self.live.get_mut(&run) {
            live.watch = Some(watch);
        }
    }

    pub(crate) fn unwatch(&mut self, run: RunId) {
        if let Some(watch) = self.live.get_mut(&run).and_then(|live| live.watch.take()) {
            for (source, _) in &watch.sources {
                self.poller.remove(source);
            }
        }
    }

    /// The oldest of those outside becomes the first process of a run of its own, with the old scope.
    fn let_go(&mut self, run: RunId) {
        let Some(live) = self.live.get(&run) else { return };
        let members = self.members(live);
        let oldest = members
            .outside
            .iter()
            .filter_map(|member| ostler_os::fingerprint_of(member.pid))
            .min_by_key(|fingerprint| fingerprint.start_time);
        let Some(fingerprint) = oldest else { return };
        let group = members
            .outside
            .iter()
            .find(|member| member.pid == fingerprint.pid)
            .map_or(fingerprint.pid, |member| member.group);
        let Some(parent) = self.world.record(run).cloned() else { return };
        let Ok(random) = ostler_os::random() else { return };
        let at = now();
        let id = RunId::new(at.wall_ms, random);
        let child = RunRecord {
            run_id: id,
            pid: Some(fingerprint.pid),
            start_time: Some(fingerprint.start_time),
            process_unique: fingerprint.unique,
            process_group_id: Some(group),
            state: ostler_model::RunState::Running,
            created_at_ms: at.wall_ms,
            started_at_ms: Some(at.wall_ms),
            started_mono_ms: Some(at.mono_ms),
            termination: None,
            exit_code: None,
            exit_signal: None,
            scope_key: None,
            timeout_ms: None,
            no_output_timeout_ms: None,
            command: format!("(detached from {run})"),
            output_bytes: 0,
            out_of_memory: false,
            ..parent
        };
        if let Some(process) = &live.process {
            // What stayed inside was not allowed to outlive the run.
            process.signal_group(ostler_os::Signal::Kill);
        }
        self.unwatch(run);
        let token = self.new_token(id);
        let process = Process::open(&fingerprint);
        let scope = self.live.get_mut(&run).and_then(|live| live.scope.take());
        if let Some(scope) = &scope {
            let tag = RunSpec::run_id_variable(run);
            self.limit_watch.add(id, scope.memory_alarm(&tag, fingerprint.pid));
        }
        self.leaders.insert(fingerprint.pid, id);
        let output = Arc::new(OutputState::new(self.home.run_folder(id), None));
        self.drain.hand(run, id, Arc::clone(&output), self.settings.log_bytes);
        let handed = self.live.get_mut(&run).map(|live| std::mem::take(&mut live.ends));
        let handed = handed.unwrap_or_default();
        self.keep_ends(id, &handed);
        self.let_go_ends(run, &handed);
        if let Some(process) = &process {
            self.guarding.keeper.keep_process(id, fingerprint.pid, process);
        }
        self.live.insert(
            id,
            LiveRun {
                run: id,
                spec: None,
                leader: group,
                process,
                scope,
                watch: None,
                output: Arc::clone(&output),
                input: Arc::new(Input::Closed),
                ends: handed,
                root_gone: false,
                is_adopted: false,
                is_passing: false,
                asked: None,
                token,
            },
        );
        self.events.push_back(Event::DetachDone { run, child: Box::new(child) });
        self.events
            .push_back(Event::Surveyed { run, tree: survey(&ostler_os::Members::default()) });
    }

    fn finish_run(&mut self, record: RunRecord) {
        let run = record.run_id;
        let record = {
            let mut record = record;
            if let Some(live) = self.live.get(&run) {
                record.last_output_at_ms = live.output.last_wall_ms().or(record.last_output_at_ms);
                record.output_bytes = live.output.written().max(record.output_bytes);
            }
            record
        };
        let was_written = !self.is_passing(run) || record.cgroup.is_none();
        let asked = self.live.get_mut(&run).and_then(|live| live.asked.take());
        self.drop_live(run);
        self.close_container(&record);
        self.close_session(&record);
        let result = record.result();
        let record_is_check = record.session_id == RunSpec::CHECK_SESSION;
        for waiter in self.waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(Cancelled::Ended(result.clone()));
        }
        if let Some(asked) = asked {
            let _ = asked.send(record.clone());
        }
        // It ended before it ran: whoever asked for it learns why from the record.
        if let Some(reply) = self.spawn_replies.remove(&run) {
            let _ = reply.send(Ok(record));
        }
        if record_is_check {
            // Nobody asks for it again, and a day has many of them.
            if was_written {
                let _ = self.registry.forget(run);
                self.drain.remove_folder(self.home.run_folder(run));
            }
            return;
        }
        if self.stopping {
            self.ended.push(result);
        }
        self.ended_since_prune += 1;
        if self.ended_since_prune * PRUNE_EVERY > self.settings.history_count.max(PRUNE_EVERY) {
            self.prune();
        }
    }

    pub(crate) fn prune(&mut self) {
        self.ended_since_prune = 0;
        self.pruned_mono_ms = ostler_os::mono_ms();
        let oldest = ostler_os::wall_ms().saturating_sub(self.settings.history_age_ms);
        // What cannot be pruned now is pruned another time.
        if let Ok(gone) =
            self.registry.prune(self.instance, self.settings.history_count, oldest, PRUNE_MOST)
        {
            for run in gone {
                self.drain.remove_folder(self.home.run_folder(run));
            }
        }
    }

    fn abandon(&mut self, run: RunId) {
        // What the new owner knows of is its own. A process that is in nobody's record is ours to end.
        let recorded =
            self.registry.run(run).ok().flatten().and_then(|record| record.fingerprint());
        if let Some(live) = self.live.get(&run)
            && let (Some(process), Some(scope)) = (&live.process, &live.scope)
            && recorded.as_ref() != Some(process.fingerprint())
        {
            scope.kill_all(Some(process), || self.members(live));
        } else if let Some(live) = self.live.get_mut(&run) {
            live.scope = None;
            // Its pipes and its terminal are still in our hands, and closing them could end it.
            live.output.end();
            let input = Arc::clone(&live.input);
            self.kept_inputs.insert(run, input);
        }
        self.drop_live(run);
        if let Some(reply) = self.spawn_replies.remove(&run) {
            let message = "another supervisor took the run over before it began".to_owned();
            let _ = reply.send(Err(SpawnRefused::Registry { message }));
        }
        for waiter in self.waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(Cancelled::NotLive);
        }
    }

    pub(crate) fn drop_live(&mut self, run: RunId) {
        // Nobody checks a check, nor does it talk back.
        if !self.is_passing(run) {
            self.prober.forget(run);
            self.apps.forget(run);
        }
        self.limit_watch.remove(run);
        self.unwatch(run);
        let Some(live) = self.live.remove(&run) else { return };
        if let Some(process) = &live.process
            && live.is_adopted
        {
            self.poller.remove(process);
        }
        self.tokens.remove(&live.token);
        self.tokens.remove(&(live.token + 1));
        if let Some(process) = &live.process {
            let pid = process.fingerprint().pid;
            if self.leaders.get(&pid) == Some(&run) {
                self.leaders.remove(&pid);
            }
        }
        if !live.is_passing {
            self.let_go_ends(run, &live.ends);
        }
        self.let_go_word(run);
        if live.process.is_some() && !live.is_passing {
            self.guarding.keeper.let_go(&End::Process.name(run));
        }
        if !live.output.is_ended() {
            self.drain.close(run);
            // If it never began, the drain does not know it.
            if live.process.is_none() {
                live.output.end();
            }
        }
        if let Some(scope) = live.scope {
            self.room.take_back(scope);
        }
    }

    fn steal(&mut self, record: RunRecord, mut seen: ostler_core::Observation) {
        let claims = self.registry.claims().unwrap_or_default();
        let seen_claim = claims.get(&record.owner_instance_id);
        if seen_claim.is_some_and(|claim| !self.has_run_out(claim)) {
            return;
        }
        match self.registry.steal(&record, seen_claim, self.instance, ostler_os::wall_ms()) {
            Ok(Theft::Won(record)) => {
                seen.ownership = ostler_core::Ownership::Ours;
                self.events.push_back(Event::StealWon { record, seen });
            }
            Ok(Theft::Lost) | Err(_) => {}
        }
    }
}

/// Never more than we may give.
fn descriptors_of(limit: Option<u64>, usual: Allocated) -> Allocated {
    match limit {
        Some(limit) => {
            let most = usual.hard.map_or(limit, |hard| hard.min(limit));
            Allocated { soft: Some(most), hard: Some(most) }
        }
        None => usual,
    }
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a zero byte in it"))
}

/// What the spec names, and the run's own id.
fn environment_of(spec: &RunSpec, tag: &str) -> io::Result<Vec<CString>> {
    let own = format!("{}=", RunSpec::RUN_ID_VARIABLE);
    let mut environment = spec
        .env
        .iter()
        .filter(|entry| !entry.as_bytes().starts_with(own.as_bytes()))
        .map(|entry| c_string(entry.as_bytes()))
        .collect::<io::Result<Vec<_>>>()?;
    environment.push(c_string(tag.as_bytes())?);
    Ok(environment)
}

fn prepare_error(spec: &RunSpec, error: io::Error) -> SpawnError {
    let name = spec.argv.first().map(ostler_model::OsText::shown).unwrap_or_default();
    match error.raw_os_error() {
        Some(errno) => SpawnError::new(SpawnStage::Prepare, errno, &name, &spec.cwd.shown(), false),
        None => SpawnError {
            kind: SpawnErrorKind::Other,
            stage: SpawnStage::Prepare,
            message: format!("cannot start {name:?}: {error}"),
            source: error,
        },
    }
}
