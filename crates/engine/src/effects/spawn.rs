//! A run's first process: started, or adopted from an earlier supervisor.

use crate::backends;
use crate::guardian_link::inheritance::DescriptorKind;
use crate::guardian_link::{sources, status_of};
use crate::output::{NewLog, OutputState, Resumed, Screen, end_on_disk};
use crate::runs::input::Input;
use crate::runs::table::LiveRun;
use crate::supervisor::Supervisor;
use ostler_core::{Event, Identity};
use ostler_model::{RunId, RunRecord, RunSpec, SpawnErrorKind, TerminalSize};
use ostler_os::{
    Allocated, Interest, Launch, Process, Program, ReaperOrder, RunReaper, ScopeFactory,
    SpawnError, SpawnStage, Stdio,
};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tokio::sync::Mutex;

impl Supervisor {
    pub(crate) fn spawn(&mut self, run: RunId) {
        let event = match self.try_spawn(run) {
            Ok(identity) => Event::Spawned { run, identity },
            Err(error) => Event::SpawnFailed { run, kind: error.kind, error: error.message },
        };
        let is_silent = self.runs.live.get(&run).is_some_and(|live| live.output.is_ended());
        self.core.events.push_back(event);
        if is_silent {
            self.core.events.push_back(Event::OutputEnded { run });
        }
    }

    fn try_spawn(&mut self, run: RunId) -> Result<Identity, SpawnError> {
        let spec = self
            .runs
            .live
            .get_mut(&run)
            .and_then(|live| live.spec.take())
            .or_else(|| {
                let unit = self.core.world.record(run)?.unit.as_deref()?;
                self.copy_of(unit, run).map(Box::new)
            })
            .ok_or_else(|| SpawnError::new(SpawnStage::Prepare, 0, "run", "", false))?;
        let prepared = |error: io::Error| prepare_error(&spec, error);
        if let Some(description) =
            spec.scope_key.as_deref().and_then(|key| self.survivor_in_scope(key))
        {
            return Err(prepared(io::Error::other(description)));
        }
        if let Some(unit) = &spec.unit {
            self.report_of(unit, run).map_err(prepared)?;
            self.secure_sockets_of(unit).map_err(prepared)?;
        }
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
        let mut connection = backends::connect(&spec).map_err(prepared)?;
        let limits = self.core.world.record(run).and_then(|record| record.enforced.clone());
        let is_passing = self.is_passing(run);
        let mut scope = if is_passing {
            self.platform.scopes.make_passing(&run.to_string(), limits.as_deref())
        } else {
            self.platform.scopes.make(&run.to_string(), limits.as_deref())
        };
        if let Some(note) = self.core.world.record(run).and_then(|record| self.pane_note(record)) {
            // A note in its place belongs to another run.
            let _ = std::fs::remove_file(&note);
            scope.set_pane_note(note);
        }
        // A run without a cgroup gets its own reaper. The guardian holds the reaper's note.
        let reaper = match scope.has_leaf() {
            true => None,
            false => ostler_os::new_reaper_note().ok().and_then(|note| {
                connection.descriptors.push((DescriptorKind::ReaperNote, Arc::clone(&note)));
                let run = c_string(run.to_string().as_bytes()).ok()?;
                let instance = c_string(self.identity.instance.to_string().as_bytes()).ok()?;
                Some(ReaperOrder { run, instance, note })
            }),
        };
        self.keep_descriptors(run, &connection.descriptors);
        let launched = self.platform.launcher.launch(
            &Launch {
                program,
                arguments,
                environment,
                directory,
                stdio: match &connection.theirs {
                    Some(theirs) => Stdio::Given(theirs.each_ref().map(AsFd::as_fd)),
                    None => Stdio::Nothing,
                },
                terminal: backends::of(spec.backend).has_terminal(),
                umask: spec.umask,
                descriptors: descriptors_of(spec.resources.descriptors, self.platform.descriptors),
                is_recorded: !is_passing,
                reaper,
            },
            &mut scope,
        );
        let launched = match launched {
            Ok(launched) => launched,
            Err(error) => {
                self.platform.scopes.take_back(scope);
                if !is_passing {
                    self.let_go_descriptors(run, &connection.descriptors);
                }
                return Err(error);
            }
        };
        if !is_passing {
            let pid = launched.process.fingerprint().pid;
            self.guardian.guardian_link.fd_store.keep_process(run, pid, &launched.process);
        }
        let fingerprint = launched.process.fingerprint().clone();
        let reaper = launched.reaper.as_ref().map(|reaper| Box::new(reaper.fingerprint().clone()));
        let most_bytes = self.log_bytes();
        let Some(live) = self.runs.live.get_mut(&run) else {
            return Err(SpawnError::new(SpawnStage::Prepare, 0, "run", "", false));
        };
        if let Some(reaper) = launched.reaper {
            let own = reaper.fingerprint();
            self.runs.strays.reapers.insert(own.pid, own.start_time);
            scope.hold_by(reaper);
            // Its parent is its reaper, not the supervisor.
            live.is_watched_by_descriptor = true;
            let _ = self.platform.poller.add(&launched.process, live.token, Interest::Readable);
        }
        if connection.theirs.is_some() {
            self.threads.output_writer.add(NewLog {
                run,
                state: Arc::clone(&live.output),
                sources: sources(&connection.descriptors),
                most_bytes,
                resumed: None,
            });
        } else {
            live.output.end();
        }
        let identity = Identity {
            process_group_id: fingerprint.pid,
            cgroup: scope.boundary(),
            reaper,
            enforced: scope.enforced().map(|held| Box::new(held.clone())),
            fingerprint,
        };
        self.threads.limit_watch.add(run, scope.memory_alarm(identity.fingerprint.pid));
        live.leader = identity.fingerprint.pid;
        live.process = Some(launched.process);
        live.scope = Some(scope);
        live.input = Arc::new(connection.input);
        let waited_with = std::mem::replace(&mut live.descriptors, connection.descriptors);
        self.let_go_descriptors(run, &waited_with);
        self.runs.leaders.insert(identity.fingerprint.pid, run);
        self.watch_screen(run);
        Ok(identity)
    }

    /// Takes over a run that an earlier supervisor started: its process if it lives, its scope in any case.
    pub(crate) fn adopt(&mut self, record: &RunRecord) {
        let run = record.run_id;
        let token = self.new_token(run);
        let held =
            self.guardian.guardian_link.inheritance.take_of_run(run, DescriptorKind::Process);
        let process = match (record.fingerprint(), held) {
            (Some(fingerprint), Some(held)) => Some(Process::held(held, fingerprint)),
            (Some(fingerprint), None) => {
                let process = Process::open(&fingerprint);
                if let Some(process) = &process {
                    self.guardian.guardian_link.fd_store.keep_process(
                        run,
                        fingerprint.pid,
                        process,
                    );
                }
                process
            }
            (None, _) => None,
        };
        if let Some(process) = &process {
            let _ = self.platform.poller.add(process, token, Interest::Readable);
        }
        let mut scope = ScopeFactory::adopt(
            record.run_id,
            record.cgroup.as_deref(),
            record.enforced.as_deref(),
        );
        if let Some(note) = self.pane_note(record) {
            scope.set_pane_note(note);
        }
        let leader = record.process_group_id.or(record.pid).unwrap_or(0);
        let is_gone = process.is_none();
        let (mut descriptors, input) = self.take_descriptors(run);
        if let Some(fingerprint) = record.reaper.as_deref() {
            let held = descriptors.iter().find(|(kind, _)| *kind == DescriptorKind::ReaperNote);
            let held = held.map(|(_, note)| Arc::clone(note));
            let is_held = held.is_some();
            let reaper = RunReaper::found(fingerprint.clone(), held);
            if let Some(note) = reaper.note().filter(|_| !is_held) {
                self.guardian
                    .guardian_link
                    .fd_store
                    .keep(&DescriptorKind::ReaperNote.name(run), &**note);
                descriptors.push((DescriptorKind::ReaperNote, Arc::clone(note)));
            }
            if reaper.is_alive() {
                self.runs.strays.reapers.insert(fingerprint.pid, fingerprint.start_time);
            }
            scope.hold_by(reaper);
        }
        self.threads.limit_watch.add(run, scope.memory_alarm(leader));
        let output = self.resumed_output(record, &descriptors);
        self.note_gaps(record);
        self.runs.live.insert(
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
                attach_count: Arc::default(),
                descriptors: descriptors.clone(),
                root_gone: is_gone,
                is_adopted: true,
                is_watched_by_descriptor: true,
                is_passing: false,
                asked: None,
                client: None,
                token,
            },
        );
        self.watch_client(run, record.client.as_deref());
        let sources = sources(&descriptors);
        if !sources.is_empty() {
            self.threads.output_writer.add(NewLog {
                run,
                state: output,
                sources,
                most_bytes: self.log_bytes(),
                resumed: Some(Resumed { leftover: self.guardian.guardian_link.leftover_of(run) }),
            });
        }
        self.watch_screen(run);
        if is_gone {
            // The process may have ended between the check and now, and nothing else would report it.
            let tree = self.survey(run);
            let live = self.runs.live.get(&run);
            let reaper = live.and_then(|live| live.scope.as_ref()?.reaper());
            let noted = record.pid.and_then(|pid| reaper?.ending_of(pid));
            let ending = record
                .pid
                .and_then(|pid| noted.or_else(|| self.guardian.guardian_link.end_of(pid)));
            self.core.events.push_back(Event::RootExited { run, status: status_of(ending), tree });
        } else {
            self.runs.adopted_roots.extend(record.pid);
            if !self.has_guardian_since_start(run) {
                // What left the cgroup is remembered while descent still shows it.
                self.survey(run);
            }
        }
    }

    /// The run's standard input, output and terminal, as the guardian or systemd held them.
    fn take_descriptors(&mut self, run: RunId) -> (Vec<(DescriptorKind, Arc<OwnedFd>)>, Input) {
        let mut descriptors = Vec::new();
        let mut input = Input::Closed;
        // Contains what the run reported while no supervisor was listening.
        if let Some(socket) =
            self.guardian.guardian_link.inheritance.take_of_run(run, DescriptorKind::NotifySocket)
        {
            self.guardian.guardian_link.notify_sockets.insert(run, socket);
        }
        for kind in [
            DescriptorKind::Input,
            DescriptorKind::Stdout,
            DescriptorKind::Stderr,
            DescriptorKind::Terminal,
            DescriptorKind::ReaperNote,
        ] {
            let Some(descriptor) = self.guardian.guardian_link.inheritance.take_of_run(run, kind)
            else {
                continue;
            };
            let descriptor = Arc::new(descriptor);
            match kind {
                DescriptorKind::Input => {
                    input = Input::Pipe(Mutex::new(Some(Arc::clone(&descriptor))))
                }
                DescriptorKind::Terminal => {
                    let master = Arc::clone(&descriptor);
                    input = Input::Terminal { master, turn: Mutex::new(()) };
                }
                DescriptorKind::Stdout
                | DescriptorKind::Stderr
                | DescriptorKind::Process
                | DescriptorKind::NotifySocket
                | DescriptorKind::Spec
                | DescriptorKind::ReaperNote => {}
            }
            descriptors.push((kind, descriptor));
        }
        (descriptors, input)
    }

    /// The limit for the output of one run.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.identity.settings.log_bytes.min(self.endpoints.handle.output_total().most())
    }

    fn resumed_output(
        &self,
        record: &RunRecord,
        descriptors: &[(DescriptorKind, Arc<OwnedFd>)],
    ) -> Arc<OutputState> {
        let folder = self.identity.home.run_folder(record.run_id);
        let is_received = descriptors
            .iter()
            .any(|(kind, _)| !matches!(kind, DescriptorKind::Input | DescriptorKind::ReaperNote));
        if !is_received {
            return Arc::new(OutputState::of_ended(folder, record.output_bytes));
        }
        let terminal = descriptors.iter().find(|(kind, _)| *kind == DescriptorKind::Terminal);
        let screen = match (terminal, self.pane_note(record)) {
            (Some((_, master)), _) => {
                Some(Screen::undrawn(ostler_os::terminal_size(&**master).unwrap_or_default()))
            }
            (None, Some(note)) => Some(Screen::undrawn(TerminalSize::default()).pane_program(note)),
            (None, None) => None,
        };
        let written = end_on_disk(&folder).max(record.output_bytes);
        Arc::new(OutputState::resumed(folder, written, screen, record.last_output_at_ms))
    }
}

/// Never more than the supervisor's own limit.
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
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "it contains a zero byte"))
}

/// The default `TERM` of a pty: the emulator understands this terminal type.
const TERMINAL: &str = "TERM=xterm-256color";

/// The environment of the spec and the run's id. A program on a pty of the supervisor also gets `TERM`.
fn environment_of(spec: &RunSpec, tag: &str) -> io::Result<Vec<CString>> {
    let own = format!("{}=", RunSpec::RUN_ID_VARIABLE);
    let mut environment = spec
        .env
        .iter()
        .filter(|entry| !entry.as_bytes().starts_with(own.as_bytes()))
        .map(|entry| c_string(entry.as_bytes()))
        .collect::<io::Result<Vec<_>>>()?;
    let has_terminal =
        |entry: &CString| entry.as_bytes().len() > 5 && entry.as_bytes().starts_with(b"TERM=");
    if backends::of(spec.backend).has_terminal() && !environment.iter().any(has_terminal) {
        environment.retain(|entry| entry.as_bytes() != b"TERM=");
        environment.push(c_string(TERMINAL.as_bytes())?);
    }
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
