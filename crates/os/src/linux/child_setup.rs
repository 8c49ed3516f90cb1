//! The child's side of a start: what it does between its birth and the program it becomes.

use super::run_reaper::{NOTE, NUMBERS_AT};
use super::stdio_slots::leave_table;
use crate::error::SpawnStage;
use rustix::thread::futex;
use std::ffi::{CStr, CString};
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the child reads and writes in our memory.
pub(super) struct Plan {
    pub(super) candidates: Vec<*const libc::c_char>,
    pub(super) arguments: Vec<*const libc::c_char>,
    /// For a script without a `#!` line: `sh`, the script, its arguments.
    pub(super) shell_arguments: Vec<*const libc::c_char>,
    pub(super) environment: Vec<*const libc::c_char>,
    pub(super) directory: *const libc::c_char,
    pub(super) stdio: [RawFd; 3],
    /// It is born on our table of descriptors, and leaves it with what is below this.
    pub(super) leaves_with: Option<RawFd>,
    pub(super) terminal: bool,
    pub(super) umask: libc::mode_t,
    pub(super) descriptors: Option<libc::rlimit>,
    pub(super) ignored: Vec<libc::c_int>,
    /// To be joined by the child itself, where it could not be born there.
    pub(super) boundary: RawFd,
    /// Groups beside its boundary.
    pub(super) joins: Vec<RawFd>,
    /// The brake on its data.
    pub(super) data: Option<libc::rlimit>,
    /// As a number, and as the kernel wants to read it for a whole session.
    pub(super) nice: Option<(i32, CString)>,
    /// Between us and the child, where it is to have one.
    pub(super) reaper: Option<ReaperPlan>,
    pub(super) failed_stage: SpawnStage,
    pub(super) failed_errno: i32,
}

/// What the child's reaper reads and writes in our memory.
pub(super) struct ReaperPlan {
    /// The top of a stack for the child: the reaper has ours.
    pub(super) stack_top: usize,
    /// On our table, below what is left behind.
    pub(super) note: RawFd,
    pub(super) program: CString,
    pub(super) arguments: Vec<*const libc::c_char>,
    pub(super) root: libc::pid_t,
    /// A descriptor of the child, on our own table.
    pub(super) root_descriptor: RawFd,
    /// Why it could not become the reaper: the child is ours then.
    pub(super) failed_errno: i32,
    /// Until the reaper no longer uses our memory. The child executes its program only then: a program could stop its
    /// parent, and a stopped reaper that still shares our memory would keep our thread waiting for ever.
    pub(super) reaper_holds: Holds,
    /// Until the child no longer uses our memory.
    pub(super) child_holds: Holds,
}

/// A word that the kernel clears when a process lets go of the memory it shares with us, by exec or by its end
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

    /// Waits by plain system calls that leave errno alone: child and supervisor share it. The kernel wakes one waiter.
    pub(super) fn wait(&self) {
        loop {
            match self.0.load(Ordering::Acquire) {
                0 => return,
                held => {
                    // Not a private futex: that is the kind the kernel wakes.
                    let _ = futex::wait(&self.0, futex::Flags::empty(), held, None);
                }
            }
        }
    }
}

/// The kernel's own structure (the C library hides two signals): the handler first, all zero is default.
static DEFAULT_ACTION: [usize; 4] = [0; 4];
const SIGNAL_SET_BYTES: usize = 8;
pub(super) const SHELL: &CStr = c"/bin/sh";

#[expect(unsafe_code, reason = "std and rustix do not tell what is ignored")]
pub(super) fn ignored_signals() -> Vec<libc::c_int> {
    (1..=64)
        .filter(|signal| {
            let mut action = DEFAULT_ACTION;
            // SAFETY: only asks; the out parameter is ours and as large as the kernel's structure.
            let asked = unsafe {
                libc::syscall(libc::SYS_rt_sigaction, *signal, 0, &raw mut action, SIGNAL_SET_BYTES)
            };
            asked == 0 && action[0] == libc::SIG_IGN
        })
        .collect()
}

/// What a child begins with.
pub(super) type Entry = unsafe extern "C" fn(*mut Plan) -> !;

/// Makes the child, which runs `entry` on its own stack and never returns here. The fourth argument is `clone`'s word
/// to be cleared; `clone3` has it in its structure.
#[expect(unsafe_code, reason = "the child begins on another stack: only assembly can say that")]
pub(super) fn raw_clone(
    number: libc::c_long,
    arguments: [usize; 4],
    plan: *mut Plan,
    entry: Entry,
) -> isize {
    let result: isize;
    // SAFETY: the supervisor stands still until everything that it has made has executed or exited, so the plan and
    // the stacks outlive their use. The child touches no register of the parent's.
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

/// The child's whole life before it executes. It runs on our memory: system calls only, no allocation,
/// no lock, no panic.
#[expect(unsafe_code, reason = "plain system calls between birth and exec")]
#[expect(
    clippy::disallowed_methods,
    reason = "a child that could not execute has nothing to clean up"
)]
pub(super) unsafe extern "C" fn child(plan: *mut Plan) -> ! {
    // SAFETY: the plan outlives this; every pointer in it was made from an owned string of the caller.
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

/// The reaper's life before it executes: it makes the child, which waits until the reaper has executed. What goes wrong
/// with the child is reported as if there were no reaper.
#[expect(unsafe_code, reason = "plain system calls between birth and exec")]
#[expect(
    clippy::disallowed_methods,
    reason = "a reaper that could not execute has nothing to clean up"
)]
pub(super) unsafe extern "C" fn reaper(plan: *mut Plan) -> ! {
    // SAFETY: as with `child`. The child has a stack of its own, and changes nothing while the reaper is here.
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

/// Returns only if it fails. It holds nothing open but its note, and no folder.
#[expect(unsafe_code, reason = "plain system calls between birth and exec")]
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

#[expect(unsafe_code, reason = "plain system calls between birth and exec")]
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
        // Before anything that changes a table.
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
            // It may be above what we may have ourselves; then that is the brake.
            libc::setrlimit(libc::RLIMIT_DATA, limit);
        }
        if let Some((nice, text)) = &plan.nice {
            // More than the usual needs a right we may not have.
            libc::setpriority(libc::PRIO_PROCESS, 0, *nice);
            let session =
                libc::open(c"/proc/self/autogroup".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if session >= 0 {
                libc::write(session, text.as_ptr().cast(), text.count_bytes());
                libc::close(session);
            }
        }
        // When memory runs out, a run goes before its supervisor. Not being allowed to say so is no error.
        let score =
            libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if score >= 0 {
            libc::write(score, c"200".as_ptr().cast(), 3);
            libc::close(score);
        }
        // What the supervisor ignores or blocks is nothing to the program. What it handles, exec resets.
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

#[expect(unsafe_code, reason = "plain system calls between birth and exec")]
unsafe fn execute(plan: &mut Plan) -> i32 {
    let mut refused = 0;
    for candidate in &plan.candidates {
        // SAFETY: see `child`. The shell's argument list has room for the script in its second place.
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

#[expect(unsafe_code, reason = "the thread's errno, shared with the parent that stands still")]
fn errno() -> i32 {
    // SAFETY: always a valid pointer.
    unsafe { *libc::__errno_location() }
}
