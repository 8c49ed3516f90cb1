//! The platform interface: the only crate with unsafe code, spawn, kill and wait.
//!
//! Its API is in terms of processes, scopes and terminals, not of one system's calls. `linux/` is one implementation;
//! other systems get modules with the same names.

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod platform;

mod boot;
mod error;

pub use ostler_sys::NONBLOCK;

pub use boot::InitSystem;
pub use error::{SpawnError, SpawnStage};
pub use platform::background::{Background, start_background, start_beside};
pub use platform::capabilities::{Capabilities, capabilities};
pub use platform::census::Census;
pub use platform::cgroup::Boundaries;
pub use platform::client::{ClientOutcome, ask_client};
pub use platform::clock::{mono_ms, started_at_ms, wall_ms};
pub use platform::exit_like::end_by_signal;
pub use platform::files::{
    Allocated, HomeLock, Note, be_private, executes, free_bytes, holders, holds_open,
    is_kept_from_callers, is_kept_from_new_runs, is_last_reserve, lift_descriptor_limit,
    memory_file, out_of_descriptors, own_executable, owner_of, random, read_memory_file,
    rotate_output, take_lock, total_bytes, umask, user_id,
};
pub use platform::foreign_memory::{MemoryKills, watch_memory_kills};
pub use platform::identity::{
    boot_id, fingerprint_of, is_same_process, is_stopped, is_taken, parent_pid, start_time_of,
    user_of,
};
pub use platform::inherited::take_inherited;
pub use platform::init::{Contained, run_contained};
pub use platform::machine_memory::{MemoryOutlook, memory_outlook};
pub use platform::members::{Leader, Member, Members, MemoryState, Relations, is_untouchable};
pub use platform::memory::{forget_text, keep_one_heap, trim};
pub use platform::memory_watch::{MemoryAlarm, MemorySubject, memory_of, rest_alarm};
pub use platform::notify::{Datagram, Notifier, Sent, listen_for_stop, receive_stop};
pub use platform::own_signals::{ignore_limit_signals, restore_sigchld};
pub use platform::pane_process::{
    PaneNote, PaneProgram, ProcessAttrs, groups_of_run, join_group, leave_run, make_fifo,
    own_attrs, own_environment,
};
pub use platform::pipe::{
    Pipe, SplicePipe, give_way, nap, read_some, set_capacity, spin_down_timer_slack, write_all,
};
pub use platform::poll::{Interest, Poller, Ready, Waker};
pub use platform::process::{Ending, Process, Signal, die, ending_behind};
pub use platform::process_tree::{
    LiveProcess, ProcessTree, alive_in_family, kill_family, kill_marked,
};
pub use platform::program::Program;
pub use platform::pty::{Pty, resize, terminal_size};
pub use platform::reaper::{Notice, Reaped, Reaper, become_reaper, beside_first_thread, read_ends};
pub use platform::run_of_pid::{ProcessOrigin, origin_of};
pub use platform::run_reaper::{RunReaper, new_reaper_note, reap_run, reapers_below};
pub use platform::scope::{KillReport, Scope, Watch};
pub use platform::scope_factory::ScopeFactory;
pub use platform::socket::{
    ListeningSocket, Peer, SocketFile, clear_socket, connect, is_forbidden, peer_of,
};
pub use platform::spawn::{Launch, Launched, Launcher, ReaperOrder, Stdio};
pub use platform::started::{Started, program_of, words_of};
pub use platform::stop_listener::StopListener;
pub use platform::sweep::{SweepOutcome, end_strays, strays, sweep};
pub use platform::terminal::{
    Foreground, ForegroundEvents, RawMode, close_report, is_terminal, own_terminal_size,
};
pub use platform::terminal_input::{
    LINE_MOST, clears_line, forget_unread, gives_lines, hides_input, is_hidden, terminal_of,
    terminal_size_at, unread,
};
pub use platform::tool::{
    ToolOutput, become_program, find_tool, init_system, run_here, run_tool, start_tool,
};
pub use platform::trust::{
    FolderRefused, distrust_file, make_own_folder, mode_open_to_all, name_of_user, owners_of,
    trust_folder, user_named,
};
pub use platform::usage::{
    Detail, MemberUsage, TreeSubject, TreeUsage, command_of, look_at_trees, time_in_line_ms,
};
