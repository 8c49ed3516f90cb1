//! Prints `ready`, then the size of its terminal whenever that changes or a line is entered.
#![expect(unsafe_code, reason = "signals are blocked and taken one by one")]

fn main() {
    // SAFETY: the set is made by sigemptyset; the process has one thread until the mask is set.
    let set = unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGWINCH);
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        set
    };
    std::thread::spawn(|| {
        for _ in std::io::stdin().lines() {
            report_size();
        }
    });
    println!("ready");
    loop {
        let mut signal = 0;
        // SAFETY: the set is valid.
        unsafe { libc::sigwait(&set, &mut signal) };
        report_size();
    }
}

fn report_size() {
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdin()) {
        println!("size {}x{}", size.ws_col, size.ws_row);
    }
}
