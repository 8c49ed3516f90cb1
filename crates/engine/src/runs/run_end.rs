//! The end of a live run: it exited, another supervisor took it over, or it never started.

use crate::backends;
use crate::guardian_link::inheritance::DescriptorKind;
use crate::handle::{Cancelled, SpawnRefused};
use crate::output::OutputState;
use crate::runs::input::Input;
use crate::runs::table::{LiveRun, TOKENS, survey};
use crate::supervisor::{Supervisor, now};
use ostler_core::Event;
use ostler_model::{RunId, RunRecord};
use ostler_os::{Interest, Process, RunReaper};
use std::path::Path;
use std::sync::Arc;

/// The history is pruned when it has grown by this fraction.
const PRUNE_EVERY: u64 = 10;
/// More than the runs that end between two prunings, and done in a few milliseconds.
const PRUNE_MOST: u64 = 250;

impl Supervisor {
    /// The oldest escaped process becomes the first process of a run of its own, with the old scope.
    pub(crate) fn let_go(&mut self, run: RunId) {
        let Some(live) = self.runs.live.get(&run) else { return };
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
        let Some(parent) = self.core.world.record(run).cloned() else { return };
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
            escaped: Vec::new(),
            survivors: Vec::new(),
            cancel_reason: None,
            client: None,
            ..parent
        };
        if let Some(process) = &live.process {
            // Processes inside the boundary may not outlive the run.
            process.signal_group(ostler_os::Signal::Kill);
        }
        self.unwatch(run);
        let token = self.new_token(id);
        let process = Process::open(&fingerprint);
        let scope = self.runs.live.get_mut(&run).and_then(|live| live.scope.take());
        if let Some(scope) = &scope {
            self.threads.limit_watch.add(id, scope.memory_alarm(fingerprint.pid));
        }
        let is_watched_by_descriptor =
            scope.as_ref().is_some_and(|scope| scope.reaper().is_some_and(RunReaper::is_alive));
        if let Some(process) = process.as_ref().filter(|_| is_watched_by_descriptor) {
            let _ = self.platform.poller.add(process, token, Interest::Readable);
        }
        self.runs.leaders.insert(fingerprint.pid, id);
        let output = Arc::new(OutputState::new(self.identity.home.run_folder(id), None));
        self.threads.output_writer.move_output(run, id, Arc::clone(&output), self.log_bytes());
        let handed = self.runs.live.get_mut(&run).map(|live| std::mem::take(&mut live.descriptors));
        let handed = handed.unwrap_or_default();
        self.keep_descriptors(id, &handed);
        self.let_go_descriptors(run, &handed);
        if let Some(process) = &process {
            self.guardian.guardian_link.fd_store.keep_process(id, fingerprint.pid, process);
        }
        self.runs.live.insert(
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
                attach_count: Arc::default(),
                descriptors: handed,
                root_gone: false,
                is_adopted: false,
                is_watched_by_descriptor,
                is_passing: false,
                asked: None,
                client: None,
                token,
            },
        );
        self.core.events.push_back(Event::DetachDone { run, child: Box::new(child) });
        self.core
            .events
            .push_back(Event::Surveyed { run, tree: survey(&ostler_os::Members::default()) });
    }

    pub(crate) fn finish_run(&mut self, record: RunRecord) {
        let run = record.run_id;
        let record = {
            let mut record = record;
            if let Some(live) = self.runs.live.get(&run) {
                record.last_output_at_ms = live.output.last_wall_ms().or(record.last_output_at_ms);
                record.output_bytes = live.output.written().max(record.output_bytes);
            }
            record
        };
        self.note_strays(&record);
        self.judge_resumption(&record);
        let was_written = !self.is_passing(run) || record.cgroup.is_none();
        let asked = self.runs.live.get_mut(&run).and_then(|live| live.asked.take());
        self.drop_live(run);
        backends::of(record.backend_id).run_ended(self, &record);
        self.close_left(&record);
        let result = record.result();
        let is_transient = record.purpose.is_transient();
        for waiter in self.waiting.waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(Cancelled::Ended(result.clone()));
        }
        self.answer_start_waiters(run);
        if let Some(asked) = asked {
            let _ = asked.send(record.clone());
        }
        // It ended before it ran: the caller gets the reason from the record.
        if let Some(reply) = self.waiting.spawn_replies.remove(&run) {
            let _ = reply.send(Ok(record));
        }
        if is_transient {
            // Its record is never requested again, and a day has many of them.
            if was_written {
                let _ = self.store.registry.forget(run);
                self.threads.output_writer.remove_folder(self.identity.home.run_folder(run));
            }
            return;
        }
        if self.life.stopping {
            self.waiting.ended.push(result);
        }
        self.store.ended_since_prune += 1;
        if self.store.ended_since_prune * PRUNE_EVERY
            > self.identity.settings.history_count.max(PRUNE_EVERY)
        {
            self.prune();
        }
    }

    pub(crate) fn prune(&mut self) {
        self.store.ended_since_prune = 0;
        self.store.pruned_mono_ms = ostler_os::mono_ms();
        let oldest = ostler_os::wall_ms().saturating_sub(self.identity.settings.history_age_ms);
        // A failed pruning is repeated later.
        if let Ok(gone) = self.store.registry.prune(
            self.identity.instance,
            self.identity.settings.history_count,
            oldest,
            PRUNE_MOST,
        ) {
            if gone.len() as u64 == PRUNE_MOST {
                // There may be more: pruning continues at the next end.
                self.store.ended_since_prune = self.identity.settings.history_count;
            }
            for run in gone {
                self.threads.output_writer.remove_folder(self.identity.home.run_folder(run));
            }
        }
        self.store.pruning.begin(&self.identity.settings, self.identity.home.registry());
    }

    pub(crate) fn abandon(&mut self, run: RunId) {
        // Processes in the record belong to the new owner. A process in no record is ended here.
        let recorded =
            self.store.registry.run(run).ok().flatten().and_then(|record| record.fingerprint());
        if let Some(live) = self.runs.live.get(&run)
            && let (Some(process), Some(scope)) = (&live.process, &live.scope)
            && recorded.as_ref() != Some(process.fingerprint())
        {
            scope.kill_all(Some(process), || self.members(live));
        } else if let Some(live) = self.runs.live.get_mut(&run) {
            let reaper = live.scope.as_ref().and_then(ostler_os::Scope::reaper);
            self.runs.strays.let_go.extend(reaper.map(|reaper| reaper.fingerprint().pid));
            self.runs.strays.let_go.insert(live.leader);
            let leaf = live.scope.as_ref().and_then(ostler_os::Scope::leaf_path);
            self.runs.strays.known_boundaries.extend(leaf.map(Path::to_owned));
            live.scope = None;
            // The supervisor still holds its pipes and its terminal, and closing them could end it.
            live.output.end();
            let input = Arc::clone(&live.input);
            self.runs.kept_inputs.insert(run, input);
        }
        self.drop_live(run);
        if let Some(reply) = self.waiting.spawn_replies.remove(&run) {
            let message = "another supervisor took the run over before it began".to_owned();
            let _ = reply.send(Err(SpawnRefused::Registry { message }));
        }
        for waiter in self.waiting.waiters.remove(&run).unwrap_or_default() {
            let _ = waiter.send(Cancelled::NotLive);
        }
    }

    pub(crate) fn drop_live(&mut self, run: RunId) {
        // A check has no checks of its own, and sends no notifications.
        if !self.is_passing(run) {
            self.threads.prober.forget(run);
            self.endpoints.apps.forget(run);
            self.endpoints.sockets.forget_notify_socket(run);
        }
        self.threads.limit_watch.remove(run);
        self.unwatch_screen(run);
        self.forget_idleness(run);
        self.unwatch(run);
        let Some(live) = self.runs.live.remove(&run) else { return };
        if let Some(process) = &live.process
            && live.is_watched_by_descriptor
        {
            self.platform.poller.remove(process);
        }
        if let Some(client) = &live.client {
            self.platform.poller.remove(&**client);
        }
        for token in live.token..live.token + TOKENS {
            self.runs.tokens.remove(&token);
        }
        if let Some(process) = &live.process {
            let pid = process.fingerprint().pid;
            if live.is_adopted {
                self.runs.adopted_roots.remove(&pid);
            }
            if self.runs.leaders.get(&pid) == Some(&run) {
                self.runs.leaders.remove(&pid);
            }
        }
        if !live.is_passing {
            self.let_go_descriptors(run, &live.descriptors);
        }
        self.let_go_notify_socket(run);
        if live.process.is_some() && !live.is_passing {
            self.guardian.guardian_link.fd_store.let_go(&DescriptorKind::Process.name(run));
        }
        if !live.output.is_ended() {
            self.threads.output_writer.close(run);
            // If it never began, the output writer does not know it.
            if live.process.is_none() {
                live.output.end();
            }
        }
        if let Some(scope) = live.scope {
            self.platform.scopes.take_back(scope);
        }
    }
}
