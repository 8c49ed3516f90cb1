//! The child's side of a spawn: from its creation to its exec.

use super::run_reaper::{NOTE, NUMBERS_AT};
use super::stdio_slots::leave_table;
use crate::error::SpawnStage;
use rustix::thread::futex;
use std::ffi::{CStr, CString};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The data that the child reads and writes in the parent's memory.
pub(super) struct Plan {
    pub(super) candidates: Vec<*const libc::c_char>,
    pub(super) arguments: Vec<*const libc::c_char>,
    /// For a script without a `#!` line: `sh`, the script, its arguments.
    pub(super) shell_arguments: Vec<*const libc::c_char>,
    pub(super) environment: Vec<*const libc::c_char>,
    pub(super) directory: *const libc::c_char,
    pub(super) stdio: [RawFd; 3],
    /// The child shares the parent's descriptor table, and copies only the entries below this number when it unshares
    /// the table.
    pub(super) leaves_with: Option<RawFd>,
    pub(super) terminal: bool,
    pub(super) umask: libc::mode_t,
    pub(super) descriptors: Option<libc::rlimit>,
    pub(super) ignored: Vec<libc::c_int>,
    /// `cgroup.procs` that the child must join itself, if it was not created in the cgroup.
    pub(super) boundary: RawFd,
    /// Cgroups beside its boundary.
    pub(super) joins: Vec<RawFd>,
    /// The limit on its data.
    pub(super) data: Option<libc::rlimit>,
    /// The nice value, and as text for the session's autogroup.
    pub(super) nice: Option<(i32, CString)>,
    /// The reaper between the supervisor and the child, if there is one.
    pub(super) reaper: Option<ReaperPlan>,
    pub(super) failed_stage: SpawnStage,
    pub(super) failed_errno: i32,
}

/// The data that the reaper reads and writes in the supervisor's memory.
pub(super) struct ReaperPlan {
    /// The top of the child's stack: the reaper uses the launcher's.
    pub(super) stack_top: usize,
    /// In the shared table, below `leaves_with`.
    pub(super) note: RawFd,
    pub(super) program: CString,
    pub(super) arguments: Vec<*const libc::c_char>,
    pub(super) root: libc::pid_t,
    /// A pidfd of the child, in the shared table.
    pub(super) root_descriptor: RawFd,
    /// Why it could not become the reaper. The child is then a child of the supervisor.
    pub(super) failed_errno: i32,
    /// Held until the reaper no longer uses the supervisor's memory. The child executes its program only then: the
    /// program could stop its parent, and a stopped reaper that still shares the memory would block the supervisor's
    /// thread for ever.
    pub(super) reaper_holds: Holds,
    /// Held until the child no longer uses the supervisor's memory.
    pub(super) child_holds: Holds,
}

/// A word that the kernel clears when a process no longer uses the shared memory, by exec or exit
/// (`CLONE_CHILD_CLEARTID`).
#[derive(Debug)]
pub(super) struct Holds(AtomicU32);

impl Holds {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(1))
    }

    pub(super) fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// Waits with plain system calls that leave errno alone: child and supervisor share it. The kernel wakes one
    /// waiter.
    pub(super) fn wait(&self) {
        loop {
            match self.0.load(Ordering::Acquire) {
                0 => return,
                held => {
                    // Not a private futex: the kernel wakes the shared kind.
                    let _ = futex::wait(&self.0, futex::Flags::empty(), held, None);
                }
            }
        }
    }
}

/// The kernel's own structure (the C library hides two signals): the handler comes first; all zero is the default.
static DEFAULT_ACTION: [usize; 4] = [0; 4];
const SIGNAL_SET_BYTES: usize = 8;
pub(super) const SHELL: &CStr = c"/bin/sh";

#[expect(unsafe_code, reason = "std and rustix cannot query ignored signals")]
pub(super) fn ignored_signals() -> Vec<libc::c_int> {
    (1..=64)
        .filter(|signal| {
            let mut action = DEFAULT_ACTION;
            // SAFETY: only a query; the out parameter is ours and as large as the kernel's structure.
            let asked = unsafe {
                libc::syscall(libc::SYS_rt_sigaction, *signal, 0, &raw mut action, SIGNAL_SET_BYTES)
            };
            asked == 0 && action[0] == libc::SIG_IGN
        })
        .collect()
}

/// The function that a new child runs.
pub(super) type Entry = unsafe extern "C" fn(*mut Plan) -> !;

/// Creates the child, which runs `entry` on its own stack and never returns here. The fourth argument is the address
/// that `clone` clears; `clone3` has it in its structure.
#[expect(unsafe_code, reason = "the child begins on another stack, which needs assembly")]
pub(super) fn raw_clone(
    number: libc::c_long,
    arguments: [usize; 4],
    plan: *mut Plan,
    entry: Entry,
) -> isize {
    let result: isize;
    // SAFETY: the supervisor's thread is suspended until every process that it created has executed or exited, so the
    // plan and the stacks outlive their use. The child does not touch the parent's registers.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") 0,
            in("r12") plan,
            in("r13") entry,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "blr x21",
            "brk 0",
            "2:",
            in("x8") number,
            inlateout("x0") arguments[0] => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") 0,
            in("x4") arguments[3],
            in("x20") plan,
            in("x21") entry,
        );
    }
    result
}

/// The child's code before exec. It runs on the parent's memory: system calls only, no allocation, no lock, no panic.
#[expect(unsafe_code, reason = "plain system calls between clone and exec")]
#[expect(
    clippy::disallowed_methods,
    reason = "a child that could not execute has nothing to clean up"
)]
pub(super) unsafe extern "C" fn child(plan: *mut Plan) -> ! {
    // SAFETY: the plan outlives this; every pointer in it points to an owned string of the caller.
    unsafe {
        if let Some(own) = &(*plan).reaper {
            own.reaper_holds.wait();
        }
        let plan = &mut *plan;
        let (stage, errno) = attempt(plan);
        plan.failed_stage = stage;
        plan.failed_errno = errno;
        libc::_exit(127)
    }
}

/// The reaper's code before exec: it creates the child, which waits until the reaper has executed. A failure of the
/// child is reported as if there were no reaper.
#[expect(unsafe_code, reason = "plain system calls between clone and exec")]
#[expect(
    clippy::disallowed_methods,
    reason = "a reaper that could not execute has nothing to clean up"
)]
pub(super) unsafe extern "C" fn reaper(plan: *mut Plan) -> ! {
    // SAFETY: as with `child`. The child has its own stack and changes nothing while the reaper runs here.
    unsafe {
        let Some(own) = &mut (*plan).reaper else { libc::_exit(127) };
        let own = ptr::from_mut(own);
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        let flags = libc::CLONE_VM
            | libc::CLONE_FILES
            | libc::CLONE_PIDFD
            | libc::CLONE_CHILD_CLEARTID
            | libc::SIGCHLD;
        let descriptor = &raw mut (*own).root_descriptor;
        let cleared = (*own).child_holds.address();
        let arguments = [flags as usize, (*own).stack_top, descriptor as usize, cleared];
        let root = raw_clone(libc::SYS_clone, arguments, plan, child);
        if root < 0 {
            (*plan).failed_stage = SpawnStage::Clone;
            (*plan).failed_errno = -root as i32;
            libc::_exit(127)
        }
        (*own).root = root as libc::pid_t;
        (*own).failed_errno = become_reaper(&*own, (*plan).leaves_with.unwrap_or(0));
        libc::_exit(127)
    }
}

/// Returns only on failure. The reaper keeps only its note open, and its working directory is `/`.
#[expect(unsafe_code, reason = "plain system calls between clone and exec")]
unsafe fn become_reaper(own: &ReaperPlan, end: RawFd) -> i32 {
    // SAFETY: see `reaper`.
    unsafe {
        let numbers = [libc::getpid(), own.root];
        let bytes = std::mem::size_of_val(&numbers);
        if libc::pwrite(own.note, numbers.as_ptr().cast(), bytes, NUMBERS_AT) != bytes as isize
            || !leave_table(end)
        {
            return errno();
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if nothing < 0 {
            return errno();
        }
        for target in 0..3 {
            libc::dup2(nothing, target);
        }
        let is_placed = match own.note {
            NOTE => libc::fcntl(NOTE, libc::F_SETFD, 0) == 0,
            note => libc::dup2(note, NOTE) == NOTE,
        };
        if !is_placed || libc::setsid() < 0 || libc::chdir(c"/".as_ptr()) < 0 {
            return errno();
        }
        let environment: [*const libc::c_char; 1] = [ptr::null()];
        libc::execve(own.program.as_ptr(), own.arguments.as_ptr(), environment.as_ptr());
        errno()
    }
}

#[expect(unsafe_code, reason = "plain system calls between clone and exec")]
unsafe fn attempt(plan: &mut Plan) -> (SpawnStage, i32) {
    // SAFETY: see `child`.
    unsafe {
        if plan.boundary >= 0 && libc::write(plan.boundary, c"0".as_ptr().cast(), 1) != 1 {
            return (SpawnStage::Scope, errno());
        }
        for group in &plan.joins {
            if libc::write(*group, c"0".as_ptr().cast(), 1) != 1 {
                return (SpawnStage::Group, errno());
            }
        }
        // Before anything that changes the descriptor table.
        if let Some(end) = plan.leaves_with
            && !leave_table(end)
        {
            return (SpawnStage::Stdio, errno());
        }
        if libc::setsid() < 0 {
            return (SpawnStage::Session, errno());
        }
        if plan.terminal && libc::ioctl(plan.stdio[0], libc::TIOCSCTTY, 0) < 0 {
            return (SpawnStage::Terminal, errno());
        }
        for (target, source) in plan.stdio.iter().enumerate() {
            if libc::dup2(*source, target as RawFd) < 0 {
                return (SpawnStage::Stdio, errno());
            }
        }
        if libc::chdir(plan.directory) < 0 {
            return (SpawnStage::Directory, errno());
        }
        libc::umask(plan.umask);
        if let Some(limit) = &plan.descriptors
            && libc::setrlimit(libc::RLIMIT_NOFILE, limit) < 0
        {
            return (SpawnStage::Limits, errno());
        }
        if let Some(limit) = &plan.data {
            // It may exceed our own hard limit; then that limit applies.
            libc::setrlimit(libc::RLIMIT_DATA, limit);
        }
        if let Some((nice, text)) = &plan.nice {
            // A higher priority than the default needs a permission we may lack.
            libc::setpriority(libc::PRIO_PROCESS, 0, *nice);
            let session =
                libc::open(c"/proc/self/autogroup".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if session >= 0 {
                libc::write(session, text.as_ptr().cast(), text.count_bytes());
                libc::close(session);
            }
        }
        // When memory runs out, the kernel should kill a run before its supervisor. A failure is not an error.
        let score =
            libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if score >= 0 {
            libc::write(score, c"200".as_ptr().cast(), 3);
            libc::close(score);
        }
        // The program must not inherit the supervisor's ignored and blocked signals. Exec resets handlers by itself.
        for signal in &plan.ignored {
            libc::syscall(
                libc::SYS_rt_sigaction,
                *signal,
                &raw const DEFAULT_ACTION,
                0,
                SIGNAL_SET_BYTES,
            );
        }
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        (SpawnStage::Execute, execute(plan))
    }
}

#[expect(unsafe_code, reason = "plain system calls between clone and exec")]
unsafe fn execute(plan: &mut Plan) -> i32 {
    let mut refused = 0;
    for candidate in &plan.candidates {
        // SAFETY: see `child`. The shell's argument list has a free second entry for the script.
        unsafe {
            libc::execve(*candidate, plan.arguments.as_ptr(), plan.environment.as_ptr());
            match errno() {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => refused = libc::EACCES,
                libc::ENOEXEC => {
                    *plan.shell_arguments.as_mut_ptr().add(1) = *candidate;
                    libc::execve(
                        SHELL.as_ptr(),
                        plan.shell_arguments.as_ptr(),
                        plan.environment.as_ptr(),
                    );
                    return errno();
                }
                other => return other,
            }
        }
    }
    if refused == 0 { libc::ENOENT } else { refused }
}

#[expect(unsafe_code, reason = "the thread's errno, shared with the suspended parent")]
fn errno() -> i32 {
    // SAFETY: always a valid pointer.
    unsafe { *libc::__errno_location() }
}
