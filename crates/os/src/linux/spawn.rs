//! Starts a program without copying the supervisor's page tables.
//!
//! The child shares the supervisor's memory, and the calling thread is suspended until the child has executed or
//! failed, as with vfork. So a failure is reported through plain memory: which step, which errno. The child is created
//! inside its cgroup and held by a pidfd from its first instant.

use super::child_setup::{
    Entry, Holds, Plan, ReaperPlan, SHELL, child, ignored_signals, raw_clone, reaper,
};
use super::files::Allocated;
use super::identity::{boot_id, stat};
use super::process::{Process, open_pid, unique_number};
use super::program::{Program, c_string};
use super::run_reaper::{RunReaper, VERB, start_of_root};
use super::scope::Scope;
use super::stdio_slots::{StdioSlots, open_nothing};
use crate::error::{SpawnError, SpawnStage};
use ostler_model::Fingerprint;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// Everything that the child needs, prepared before the clone.
#[derive(Debug)]
pub struct Launch<'a> {
    pub program: Program,
    pub arguments: Vec<CString>,
    pub environment: Vec<CString>,
    pub directory: CString,
    pub stdio: Stdio<'a>,
    /// Standard input is a terminal. It becomes the controlling terminal of the child's session.
    pub terminal: bool,
    pub umask: u32,
    pub descriptors: Allocated,
    /// The fingerprint is needed later. It costs system calls, and a child that is known by its boundary needs none.
    pub is_recorded: bool,
    /// The reaper that holds the run together if there is no kernel boundary.
    pub reaper: Option<ReaperOrder>,
}

/// A reaper between the supervisor and a program.
#[derive(Clone, Debug)]
pub struct ReaperOrder {
    /// Shown in the process list, and read by a supervisor that finds only the note.
    pub run: CString,
    /// The instance of the run, for a supervisor whose registry has lost the run.
    pub instance: CString,
    pub note: Arc<OwnedFd>,
}

/// The child's standard input, output and error.
#[derive(Clone, Copy, Debug)]
pub enum Stdio<'a> {
    /// `/dev/null` for all three.
    Nothing,
    Given([BorrowedFd<'a>; 3]),
}

#[derive(Debug)]
pub struct Launched {
    pub process: Process,
    /// The reaper that is the parent, if one was requested and could be started.
    pub reaper: Option<RunReaper>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpawnMethod {
    /// Directly into the cgroup, in one call.
    Clone3,
    /// For a sandbox that forbids `clone3`.
    Clone,
}

/// Starts programs, one at a time.
#[derive(Debug)]
pub struct Launcher {
    stack: Vec<u128>,
    /// The stack of a child that its reaper creates. Empty until the first such child.
    second_stack: Vec<u128>,
    spawn_method: SpawnMethod,
    slots: Option<StdioSlots>,
    /// The signals this process ignores. They would stay ignored in an executed program.
    ignored: Vec<libc::c_int>,
}

const STACK_WORDS: usize = 64 * 1024 / 16;
impl Default for Launcher {
    fn default() -> Self {
        Self::new()
    }
}

impl Launcher {
    pub fn new() -> Self {
        Self {
            stack: vec![0; STACK_WORDS],
            second_stack: Vec::new(),
            spawn_method: SpawnMethod::Clone3,
            slots: StdioSlots::take(),
            ignored: ignored_signals(),
        }
    }

    /// Starts the program inside the scope. On an error nothing is left of it.
    pub fn launch(
        &mut self,
        launch: &Launch<'_>,
        scope: &mut Scope,
    ) -> Result<Launched, SpawnError> {
        let mut group = match scope.open_leaf() {
            Some(Ok(group)) => Some(group),
            Some(Err(error)) if is_out_of_descriptors(&error) => {
                return Err(failed(launch, SpawnStage::Prepare, error.raw_os_error().unwrap_or(0)));
            }
            Some(Err(_)) => {
                scope.drop_leaf();
                None
            }
            None => None,
        };
        loop {
            match self.make_child(launch, scope, group.as_deref()) {
                Err(error) if scope.held().is_some() && error.stage == SpawnStage::Group => {
                    scope.drop_groups();
                }
                // The kernel refused the cgroup: try a new one, or the weaker boundary.
                Err(error) if group.is_some() && is_refused_there(&error) => {
                    group = scope.renew_leaf();
                }
                outcome => return outcome,
            }
        }
    }

    #[expect(unsafe_code, reason = "the child shares this process's memory until it executes")]
    #[expect(
        clippy::disallowed_methods,
        reason = "reaps a child that failed before it became a run"
    )]
    fn make_child(
        &mut self,
        launch: &Launch<'_>,
        scope: &Scope,
        group: Option<&OwnedFd>,
    ) -> Result<Launched, SpawnError> {
        let mut plan = plan_of(launch, &self.ignored);
        // Without the stdio slots, no descriptor of `/dev/null` is open yet.
        let nothing = match (launch.stdio, &self.slots) {
            (Stdio::Nothing, None) => match open_nothing() {
                Ok(nothing) => Some(nothing),
                Err(error) => {
                    let errno = error.raw_os_error().unwrap_or(0);
                    return Err(failed(launch, SpawnStage::Prepare, errno));
                }
            },
            (Stdio::Nothing | Stdio::Given(_), _) => None,
        };
        if let Some(nothing) = &nothing {
            plan.stdio = [nothing.as_raw_fd(); 3];
        }
        let held = match scope.held().map(super::limits::RunLimits::joins) {
            Some(Ok(joins)) => joins,
            Some(Err(error)) => {
                return Err(failed(launch, SpawnStage::Group, error.raw_os_error().unwrap_or(0)));
            }
            None => Vec::new(),
        };
        plan.joins.extend(held.iter().map(AsRawFd::as_raw_fd));
        if let Some(held) = scope.held() {
            plan.data =
                held.data_most().map(|most| libc::rlimit { rlim_cur: most, rlim_max: most });
            plan.nice = held
                .nice()
                .and_then(|nice| Some((nice, c_string(nice.to_string().as_bytes()).ok()?)));
        }
        if let Some(slots) = &mut self.slots {
            if let Stdio::Given(stdio) = &launch.stdio
                && let Err(error) = slots.fill(stdio)
            {
                slots.clear();
                let errno = error.raw_os_error().unwrap_or(0);
                return Err(failed(launch, SpawnStage::Prepare, errno));
            }
            plan.stdio = slots.numbers();
            plan.leaves_with = Some(slots.end());
        }
        let order = launch.reaper.as_ref().filter(|_| group.is_none());
        if let (Some(order), Some(slots)) = (order, &mut self.slots) {
            let note = slots.put_note(order.note.as_fd());
            plan.reaper = note.ok().and_then(|note| reaper_plan(order, note));
        }
        let entry: Entry = match &mut plan.reaper {
            Some(own) => {
                self.second_stack.resize(STACK_WORDS, 0);
                own.stack_top = self.second_stack.as_mut_ptr_range().end as usize;
                reaper
            }
            None => child,
        };
        let mut pidfd: RawFd = -1;
        // SAFETY: the sets are initialised before they are read.
        let mut before = unsafe { std::mem::zeroed::<libc::sigset_t>() };
        // SAFETY: as above. No signal may be handled while the child runs on this process's memory.
        unsafe {
            let mut all = std::mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        }
        let mut pid = -libc::ENOSYS as isize;
        if self.spawn_method == SpawnMethod::Clone3 {
            pid = self.clone3(&mut plan, &mut pidfd, group, entry);
            if pid == -libc::ENOSYS as isize || (pid == -libc::EPERM as isize && group.is_none()) {
                self.spawn_method = SpawnMethod::Clone;
            }
        }
        if self.spawn_method == SpawnMethod::Clone {
            let members =
                scope.leaf().filter(|_| group.is_some()).map(super::cgroup::Leaf::open_members);
            let members = match members {
                Some(Ok(members)) => Some(members),
                Some(Err(_)) | None => None,
            };
            plan.boundary = members.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            pid = self.clone(&mut plan, &mut pidfd, entry);
        }
        if let Some(own) = plan.reaper.as_ref().filter(|own| own.root > 0) {
            own.child_holds.wait();
        }
        let is_in_pane = matches!(launch.stdio, Stdio::Given(_)) || plan.reaper.is_some();
        if let Some(slots) = self.slots.as_mut().filter(|_| is_in_pane) {
            slots.clear();
        }
        // SAFETY: restores the previous mask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
        if pid < 0 {
            return Err(failed(launch, SpawnStage::Clone, -pid as i32));
        }
        let mut pid = pid as i32;
        // SAFETY: the kernel gave us this descriptor; it has no other owner.
        let owned = |number: RawFd| (number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number) });
        let mut descriptor = owned(pidfd).or_else(|| open_pid(pid));
        let above = (pid, descriptor.as_ref().and_then(|held| unique_number(held.as_fd())));
        let root = plan.reaper.as_ref().map(|own| (own.root, owned(own.root_descriptor)));
        if root.as_ref().is_some_and(|(root, _)| *root == 0) && plan.failed_errno == 0 {
            // The reaper was killed before it could create the child.
            (plan.failed_stage, plan.failed_errno) = (SpawnStage::Clone, libc::EAGAIN);
        }
        if plan.failed_errno != 0 {
            let mut status = 0;
            // SAFETY: the child has ended, or is the reaper of an ended child: it is reaped at once.
            unsafe { libc::waitpid(pid, &raw mut status, 0) };
            return Err(failed(launch, plan.failed_stage, plan.failed_errno));
        }
        let mut run_reaper = None;
        if let (Some(own), Some((root, held))) = (&plan.reaper, root) {
            (pid, descriptor) = (root, held.or_else(|| open_pid(root)));
            if own.failed_errno == 0 {
                run_reaper = Some(above);
            } else {
                let mut status = 0;
                // SAFETY: the reaper has ended; its child is now a child of this process.
                unsafe { libc::waitpid(above.0, &raw mut status, 0) };
            }
        }
        let Some(descriptor) = descriptor else {
            return Err(failed(launch, SpawnStage::Clone, libc::EMFILE));
        };
        // The pid is not reused: the process is an unreaped child. A child of the reaper may be reaped already; then
        // the note has its start time.
        let start_time = || match run_reaper.zip(order) {
            Some(((reaper, _), order)) => start_of_root(&order.note, pid, reaper),
            None => stat(pid).map(|stat| stat.start_time),
        };
        let (start_time, unique) = if launch.is_recorded || group.is_none() {
            (start_time().unwrap_or(0), unique_number(descriptor.as_fd()))
        } else {
            (0, None)
        };
        let fingerprint = Fingerprint { pid, start_time, boot_id: boot_id().to_owned(), unique };
        let reaper = run_reaper.zip(order).map(|((pid, unique), order)| {
            // The reaper is an unreaped child too.
            let start_time = stat(pid).map_or(0, |stat| stat.start_time);
            let fingerprint =
                Fingerprint { pid, start_time, boot_id: boot_id().to_owned(), unique };
            RunReaper::new(fingerprint, Arc::clone(&order.note))
        });
        Ok(Launched { process: Process::new(descriptor, fingerprint), reaper })
    }

    fn clone3(
        &mut self,
        plan: &mut Plan,
        pidfd: &mut RawFd,
        group: Option<&OwnedFd>,
        entry: Entry,
    ) -> isize {
        const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
        const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
        let mut flags =
            (libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD) as u64 | CLONE_CLEAR_SIGHAND;
        if plan.leaves_with.is_some() {
            flags |= libc::CLONE_FILES as u64;
        }
        if group.is_some() {
            flags |= CLONE_INTO_CGROUP;
        }
        let cleared = cleared_by_reaper(plan);
        if cleared != 0 {
            flags |= libc::CLONE_CHILD_CLEARTID as u64;
        }
        let arguments = libc::clone_args {
            flags,
            pidfd: ptr::from_mut(pidfd) as u64,
            child_tid: cleared as u64,
            parent_tid: 0,
            exit_signal: libc::SIGCHLD as u64,
            stack: self.stack.as_mut_ptr() as u64,
            stack_size: (STACK_WORDS * 16) as u64,
            tls: 0,
            set_tid: 0,
            set_tid_size: 0,
            cgroup: group.map_or(0, |group| group.as_raw_fd() as u64),
        };
        raw_clone(
            libc::SYS_clone3,
            [ptr::from_ref(&arguments) as usize, std::mem::size_of::<libc::clone_args>(), 0, 0],
            plan,
            entry,
        )
    }

    fn clone(&mut self, plan: &mut Plan, pidfd: &mut RawFd, entry: Entry) -> isize {
        let shared = if plan.leaves_with.is_some() { libc::CLONE_FILES } else { 0 };
        let cleared = cleared_by_reaper(plan);
        let clears = if cleared == 0 { 0 } else { libc::CLONE_CHILD_CLEARTID };
        let flags = libc::CLONE_VM
            | libc::CLONE_VFORK
            | libc::CLONE_PIDFD
            | libc::SIGCHLD
            | shared
            | clears;
        let top = self.stack.as_mut_ptr_range().end as usize;
        raw_clone(
            libc::SYS_clone,
            [flags as usize, top, ptr::from_mut(pidfd) as usize, cleared],
            plan,
            entry,
        )
    }
}

/// The address of the word that the kernel clears when the reaper no longer uses this process's memory; 0 without a
/// reaper.
fn cleared_by_reaper(plan: &Plan) -> usize {
    plan.reaper.as_ref().map_or(0, |own| own.reaper_holds.address())
}

fn is_refused_there(error: &SpawnError) -> bool {
    matches!(error.stage, SpawnStage::Clone | SpawnStage::Scope)
        && matches!(
            error.source.raw_os_error(),
            // `ENODEV` and `ENOENT`: another process removed the cgroup.
            Some(
                libc::EACCES
                    | libc::EPERM
                    | libc::EBUSY
                    | libc::EOPNOTSUPP
                    | libc::ENODEV
                    | libc::ENOENT
            )
        )
}

fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn failed(launch: &Launch<'_>, stage: SpawnStage, errno: i32) -> SpawnError {
    let directory = launch.directory.to_string_lossy().into_owned();
    let exists = launch.program.candidates.iter().any(|candidate| {
        Path::new(&directory).join(Path::new(&*candidate.to_string_lossy())).is_file()
    });
    SpawnError::new(stage, errno, &launch.program.name, &directory, exists)
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// Executes the running executable itself, even if its path was replaced.
fn reaper_plan(order: &ReaperOrder, note: RawFd) -> Option<ReaperPlan> {
    Some(ReaperPlan {
        stack_top: 0,
        note,
        program: super::background::own_executable().ok()?,
        arguments: vec![
            c"ostler".as_ptr(),
            VERB.as_ptr(),
            order.run.as_ptr(),
            order.instance.as_ptr(),
            ptr::null(),
        ],
        root: 0,
        root_descriptor: -1,
        failed_errno: 0,
        reaper_holds: Holds::new(),
        child_holds: Holds::new(),
    })
}

fn plan_of(launch: &Launch<'_>, ignored: &[libc::c_int]) -> Plan {
    let arguments = pointers(&launch.arguments);
    let mut shell_arguments = vec![SHELL.as_ptr(), ptr::null()];
    shell_arguments.extend(arguments.iter().skip(1));
    Plan {
        candidates: launch.program.candidates.iter().map(|path| path.as_ptr()).collect(),
        shell_arguments,
        arguments,
        environment: pointers(&launch.environment),
        directory: launch.directory.as_ptr(),
        stdio: match &launch.stdio {
            Stdio::Nothing => [-1; 3],
            Stdio::Given(stdio) => stdio.each_ref().map(AsRawFd::as_raw_fd),
        },
        leaves_with: None,
        terminal: launch.terminal,
        umask: launch.umask as libc::mode_t,
        descriptors: match (launch.descriptors.soft, launch.descriptors.hard) {
            (Some(soft), Some(hard)) => Some(libc::rlimit { rlim_cur: soft, rlim_max: hard }),
            (_, None) | (None, _) => None,
        },
        ignored: ignored.to_vec(),
        boundary: -1,
        joins: Vec::new(),
        data: None,
        nice: None,
        reaper: None,
        failed_stage: SpawnStage::Prepare,
        failed_errno: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pipe, ScopeFactory};
    use ostler_model::SpawnErrorKind;

    fn launch_in(
        (spawn_method, on_our_table): (SpawnMethod, bool),
        scopes: &ScopeFactory,
        command: &[&str],
        directory: &str,
    ) -> (Result<(Launched, Scope), SpawnError>, String) {
        let environment =
            vec![CString::from(c"PATH=/usr/bin:/bin"), CString::from(c"OSTLER_RUN_ID=x")];
        let pipe = Pipe::from_run().expect("a pipe");
        let nothing = std::fs::File::open("/dev/null").expect("/dev/null");
        let mut launcher = Launcher { spawn_method, ..Launcher::new() };
        if !on_our_table {
            launcher.slots = None;
        }
        let name = format!(
            "{:?}-{}-{}",
            spawn_method,
            rustix::process::getpid().as_raw_pid(),
            fastest_unique()
        );
        let mut scope = scopes.make(&name, None);
        let launched = launcher.launch(
            &Launch {
                program: Program::find(command[0].as_bytes(), &environment).expect("a name"),
                arguments: command
                    .iter()
                    .map(|text| c_string(text.as_bytes()).expect("no NUL byte"))
                    .collect(),
                environment,
                directory: c_string(directory.as_bytes()).expect("no NUL byte"),
                stdio: Stdio::Given([nothing.as_fd(), pipe.theirs.as_fd(), pipe.theirs.as_fd()]),
                terminal: false,
                umask: 0o027,
                descriptors: Allocated { soft: Some(256), hard: Some(256) },
                is_recorded: true,
                reaper: None,
            },
            &mut scope,
        );
        drop(pipe.theirs);
        let mut written = Vec::new();
        let mut buffer = [0u8; 4096];
        loop {
            match crate::read_some(&pipe.ours, &mut buffer) {
                Ok(Some(0)) | Err(_) => break,
                Ok(Some(length)) => written.extend_from_slice(&buffer[..length]),
                Ok(None) => crate::nap(std::time::Duration::from_millis(1)),
            }
        }
        (launched.map(|launched| (launched, scope)), String::from_utf8_lossy(&written).into_owned())
    }

    const WAYS: [(SpawnMethod, bool); 4] = [
        (SpawnMethod::Clone3, true),
        (SpawnMethod::Clone3, false),
        (SpawnMethod::Clone, true),
        (SpawnMethod::Clone, false),
    ];

    fn fastest_unique() -> u32 {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    #[expect(unsafe_code, reason = "waits only for this child: other tests have their own")]
    #[expect(clippy::disallowed_methods, reason = "a test is its own reaper")]
    fn reap(launched: &Launched) -> i32 {
        let mut status = 0;
        // SAFETY: a plain out parameter.
        unsafe { libc::waitpid(launched.process.fingerprint().pid, &raw mut status, 0) };
        status
    }

    /// R3: own session and process group with each spawn method; limits, mask and signals are set.
    #[test]
    fn every_spawn_method_gives_the_same_child() {
        let probe = "ps -o pid=,pgid=,sid= -p $$ 2>/dev/null || awk '{print $1,$5,$6}' /proc/$$/stat; \
                     umask; ulimit -n; grep -E 'SigIgn|SigBlk' /proc/self/status; pwd; ls /proc/$$/fd | wc -l";
        for spawn_method in WAYS {
            for mut scopes in [
                ScopeFactory::open(&format!("test-{}", rustix::process::getpid().as_raw_pid())),
                ScopeFactory::without_boundary("test", "test"),
            ] {
                let (launched, description) =
                    launch_in(spawn_method, &scopes, &["sh", "-c", probe], "/tmp");
                let (launched, scope) = launched.expect("launched");
                let pid = launched.process.fingerprint().pid;
                assert_eq!(reap(&launched), 0, "{description}");
                let lines: Vec<&str> = description.lines().collect();
                let ids: Vec<i32> =
                    lines[0].split_whitespace().map(|id| id.parse().expect("a pid")).collect();
                assert_eq!(
                    ids,
                    [pid, pid, pid],
                    "the child leads its own group and session: {description}"
                );
                assert!(lines[1].ends_with("027") && lines[2] == "256", "{description}");
                assert!(
                    lines[3].ends_with("0000000000000000")
                        && lines[4].ends_with("0000000000000000"),
                    "{description}"
                );
                assert_eq!(lines[5], "/tmp");
                scope.remove();
                scopes.close();
            }
        }
    }

    /// W6: a boundary is reused only in its initial state; a removed one is created again.
    #[test]
    fn a_kept_boundary_is_as_good_as_a_new_one() {
        let mut scopes =
            ScopeFactory::open(&format!("kept-{}", rustix::process::getpid().as_raw_pid()));
        if scopes.why_no_boundary().is_some() {
            return;
        }
        let mut launcher = Launcher::new();
        let environment = vec![CString::from(c"PATH=/usr/bin:/bin")];
        let mut run = |scopes: &mut ScopeFactory, name: &str, spoil: &dyn Fn(&Path)| {
            let mut scope = scopes.make_passing(name, None);
            spoil(Path::new(&scope.boundary().expect("a boundary")));
            let launch = Launch {
                program: Program::find(b"true", &environment).expect("a name"),
                arguments: vec![CString::from(c"true")],
                environment: environment.clone(),
                directory: CString::from(c"/"),
                stdio: Stdio::Nothing,
                terminal: false,
                umask: 0o027,
                descriptors: Allocated { soft: Some(256), hard: Some(256) },
                is_recorded: false,
                reaper: None,
            };
            let launched = launcher.launch(&launch, &mut scope).expect("launched");
            assert_eq!(reap(&launched), 0);
            let boundary = scope.boundary().expect("a boundary");
            scopes.take_back(scope);
            boundary
        };
        let nothing: &dyn Fn(&Path) = &|_| {};
        let first = run(&mut scopes, "1", nothing);
        assert_eq!(run(&mut scopes, "2", nothing), first);
        // A cgroup below it.
        let below: &dyn Fn(&Path) = &|leaf| std::fs::create_dir(leaf.join("below")).expect("made");
        assert_eq!(run(&mut scopes, "3", below), first);
        assert!(!Path::new(&first).exists());
        let second = run(&mut scopes, "4", nothing);
        assert_ne!(second, first);
        // Another process removed it before its reuse.
        let gone: &dyn Fn(&Path) = &|leaf| std::fs::remove_dir(leaf).expect("removed");
        let third = run(&mut scopes, "5", gone);
        assert_ne!(third, second);
        // Not needed since two trims.
        let fourth = run(&mut scopes, "6", nothing);
        scopes.trim();
        scopes.trim();
        assert!(!Path::new(&fourth).exists());
        scopes.close();
        assert!(!Path::new(&fourth).parent().expect("the instance's cgroup").exists());
    }

    #[test]
    fn a_spawn_error_names_the_step_and_leaves_nothing() {
        let scopes = ScopeFactory::without_boundary("test", "test");
        for spawn_method in WAYS {
            let kind = |command: &[&str], directory: &str| {
                launch_in(spawn_method, &scopes, command, directory)
                    .0
                    .map(|_| ())
                    .expect_err("the launch fails")
                    .kind
            };
            assert_eq!(kind(&["no-such-program"], "/"), SpawnErrorKind::NotFound);
            assert_eq!(kind(&["/etc/passwd"], "/"), SpawnErrorKind::NotExecutable);
            assert_eq!(kind(&["/"], "/"), SpawnErrorKind::NotExecutable);
            assert_eq!(kind(&[""], "/"), SpawnErrorKind::NotFound);
            assert_eq!(kind(&["true"], "/no/such/folder"), SpawnErrorKind::BadDirectory);
            let long = "x".repeat(200_000);
            assert_eq!(kind(&["true", &long], "/"), SpawnErrorKind::TooBig);
        }
    }

    #[test]
    fn a_script_without_an_interpreter_line_is_run_by_the_shell() {
        let folder = std::env::temp_dir().join(format!("ostler-script-{}", std::process::id()));
        std::fs::write(&folder, "echo script $1\n").expect("written");
        let mut permissions = std::fs::metadata(&folder).expect("there").permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        std::fs::set_permissions(&folder, permissions).expect("set");
        let scopes = ScopeFactory::without_boundary("test", "test");
        let path = folder.to_string_lossy().into_owned();
        let (launched, description) = launch_in(WAYS[0], &scopes, &[&path, "one"], "/");
        assert_eq!(reap(&launched.expect("launched").0), 0);
        assert_eq!(description, "script one\n");
        std::fs::remove_file(folder).expect("removed");
    }
}
