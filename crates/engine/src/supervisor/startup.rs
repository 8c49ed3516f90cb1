//! The start of a supervisor: it locks the home, opens the registry, starts its threads and reconciles.

use crate::agents::sessions::Resumes;
use crate::agents::{Judge, ScreenWatch};
use crate::apps::{Apps, Proof};
use crate::checks::prober::Prober;
use crate::error::EngineError;
use crate::guardian_link::inheritance::{Inheritance, LOCK};
use crate::guardian_link::{GuardianInfo, GuardianLink, ThreadHeartbeats};
use crate::handle::Handle;
use crate::home::Home;
use crate::output::{OutputTotal, OutputWriter, default_output_bytes};
use crate::runs::memory_limits::LimitWatch;
use crate::runs::strays::Strays;
use crate::sockets::Sockets;
use crate::store::crash_log::CrashBudget;
use crate::store::failpoint;
use crate::store::life_log::LifeLog;
use crate::store::pruning::Pruning;
use crate::units::schedule::Timetable;
use ostler_core::World;
use ostler_model::{InstanceId, Settings};
use ostler_os::{HomeLock, Interest, Launcher, Poller, Reaper, ScopeFactory, Waker};
use ostler_registry::{Batch, Registry, RegistryError, Rollback, Writer};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, mpsc};
use tokio::sync::watch;

use super::*;

impl Supervisor {
    pub fn start(
        home: Home,
        settings: Settings,
        guardian_info: GuardianInfo,
        mut inheritance: Inheritance,
        judge: Arc<dyn Judge>,
    ) -> Result<Self, EngineError> {
        let reaper = Reaper::new().map_err(EngineError::os("listen to signals"))?;
        let inherited_lock = inheritance.take(LOCK).map(HomeLock::shared);
        if inherited_lock.as_ref().is_some_and(|lock| !lock.is_in_place(&home.lock())) {
            // The home was removed meanwhile: a file there now belongs to another daemon.
            return Err(EngineError::Removed { home: home.path().to_owned() });
        }
        let mut home = home;
        home.prepare()?;
        // The process that passed the lock holds it too, so that the home has an owner while no supervisor runs. The
        // fence is held by this process only, and by children between their start and their exec.
        let lock = match inherited_lock {
            Some(lock) => lock,
            None => take_lock(&home, &home.lock())?,
        };
        let fence = take_lock(&home, &home.fence())?;
        ostler_os::become_reaper().map_err(EngineError::os("become the reaper of descendants"))?;
        let descriptors = ostler_os::lift_descriptor_limit();
        let instance = home.instance()?;
        let (mut registry, rollback_reason) = open_registry(&**home.registry(), instance)?;
        failpoint::arm(&mut *registry);
        if guardian_info.guardian.is_none() {
            let _ = home.write_pid();
        }
        let mut guardian_link = GuardianLink::new(&guardian_info, inheritance);
        if guardian_info.guardian.is_none() {
            // systemd does not hold the home's lock: another daemon could take the home while no supervisor runs.
            guardian_link.fd_store.keep(LOCK, &lock);
        }

        let poller = Poller::new().map_err(EngineError::os("make a poller"))?;
        let waker = Waker::new(&poller, WAKER).map_err(EngineError::os("make a waker"))?;
        poller
            .add(&reaper, SIGNALS, Interest::Readable)
            .map_err(EngineError::os("watch for signals"))?;
        let (request_sender, requests) = mpsc::channel();
        let (output_sender, output_events) = mpsc::channel();
        let output_waker = waker.clone();
        let heartbeats_seen = Arc::new(ThreadHeartbeats::default());
        let most = settings.output_bytes.unwrap_or_else(|| default_output_bytes(home.path()));
        let output_total = Arc::new(OutputTotal::new(most));
        let notify_output = move |event| {
            if output_sender.send(event).is_ok() {
                output_waker.wake();
            }
        };
        let notify_output: NotifyOutput = Arc::new(notify_output);
        let notify = Arc::clone(&notify_output);
        let total = Arc::clone(&output_total);
        let splice_pipe = guardian_link.splice_pipe();
        let output_writer =
            OutputWriter::start(splice_pipe, Arc::clone(&heartbeats_seen), total, move |event| {
                notify(event)
            })
            .map_err(EngineError::os("start the output writer"))?;
        let (last_seq, seq_receiver) = watch::channel(0);
        let (liveness, liveness_receiver) = watch::channel(0);
        let proof = Proof::of(&home.secret()).or_else(|_| Proof::passing());
        let proof = proof.map_err(EngineError::os("make a key for apps"))?;
        let apps = Arc::new(Apps::new(proof, home.app_socket()));
        let handle = Handle::new(
            request_sender,
            waker.clone(),
            seq_receiver,
            liveness_receiver,
            Arc::clone(&heartbeats_seen),
            Arc::clone(&apps),
            Arc::clone(&output_total),
            instance,
        );
        let (probed_sender, probed) = mpsc::channel();
        let probed_waker = waker.clone();
        let prober = Prober::new(handle.clone(), move |event| {
            if probed_sender.send(event).is_ok() {
                probed_waker.wake();
            }
        });
        let scopes = if settings.kernel_boundary {
            ScopeFactory::open(&instance.to_string())
        } else {
            ScopeFactory::without_boundary(
                &instance.to_string(),
                "it is turned off by OSTLER_NO_CGROUP",
            )
        };
        let scopes = if settings.limit_groups {
            scopes
        } else {
            scopes.without_groups(&instance.to_string())
        };
        let world = World::new(&settings, now());
        let limit_watch = LimitWatch::new(waker.clone());
        let screens = ScreenWatch::new(judge, waker.clone());
        let mut supervisor = Self {
            identity: Identity { home, settings, instance, lock, _fence: fence },
            core: Core { world, events: VecDeque::new() },
            endpoints: Endpoints { handle, sockets: Sockets::default(), apps },
            store: Store {
                registry,
                batch: Batch::default(),
                unsaved: Batch::default(),
                retry_at: None,
                registry_error: None,
                last_seq,
                life_log: LifeLog::default(),
                pruning: Pruning::default(),
                pruned_mono_ms: 0,
                ended_since_prune: 0,
                crash_budget: CrashBudget::default(),
            },
            runs: RunTable {
                live: HashMap::new(),
                leaders: HashMap::new(),
                adopted_roots: HashSet::new(),
                kept_inputs: HashMap::new(),
                strays: Strays::default(),
                census: OnceCell::new(),
                tokens: HashMap::new(),
                next_token: FIRST_RUN,
            },
            waiting: Waiting {
                spawn_replies: HashMap::new(),
                waiters: HashMap::new(),
                start_waiters: HashMap::new(),
                stop_replies: Vec::new(),
                unit_waiters: Vec::new(),
                proven_at: None,
                ended: Vec::new(),
            },
            agents: AgentTable {
                sessions: HashMap::new(),
                resumes: Resumes::default(),
                agent_idle: HashMap::new(),
                delivering: HashMap::new(),
                cpu_marks: HashMap::new(),
                kept_awake: HashMap::new(),
                screens,
            },
            schedule: Schedule {
                noted: HashMap::new(),
                timetable: Timetable::default(),
                is_timetable_old: true,
                deadmen: BTreeSet::new(),
            },
            platform: Platform {
                poller,
                scopes,
                launcher: Launcher::new(),
                descriptors,
                reaper,
                waker,
            },
            threads: Threads {
                output_writer,
                prober,
                limit_watch,
                probed,
                output_events,
                requests,
                notify_output,
                output_total,
            },
            life: Lifecycle {
                stopping: false,
                stopped: false,
                restart_requested: false,
                successor: None,
                names_program: false,
                business: Activity::Busy,
            },
            guardian: GuardianSide { guardian_info, guardian_link, liveness, heartbeats_seen },
        };
        supervisor.watch_guardian();
        supervisor.note_rollback(rollback_reason);
        if let Err(error) = supervisor.reconcile() {
            supervisor.platform.scopes.close();
            return Err(error.at(supervisor.identity.home.registry().place()));
        }
        supervisor.miss_guardian(supervisor.guardian.guardian_info.guardian);
        if supervisor.threads.output_total.begin_sweep() {
            supervisor.sweep_output();
        }
        Ok(supervisor)
    }
}

fn open_registry(
    registry: &dyn Registry,
    instance: InstanceId,
) -> Result<(Box<dyn Writer>, Option<Rollback>), EngineError> {
    match registry.writer() {
        Err(newer @ RegistryError::Newer { .. }) => {
            match registry.roll_back(instance, ostler_os::wall_ms())? {
                rollback_reason @ Rollback::Yes { .. } => {
                    Ok((registry.writer()?, Some(rollback_reason)))
                }
                Rollback::NoCopy | Rollback::Shared => Err(newer.into()),
            }
        }
        outcome => Ok((outcome?, None)),
    }
}

fn take_lock(home: &Home, path: &Path) -> Result<HomeLock, EngineError> {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        match ostler_os::take_lock(path).map_err(EngineError::os("lock the home"))? {
            Some(lock) => return Ok(lock),
            None if ostler_os::connect(home.socket()).is_ok() => break,
            None => ostler_os::nap(std::time::Duration::from_millis(20)),
        }
    }
    Err(EngineError::Owned { home: home.path().to_owned() })
}
