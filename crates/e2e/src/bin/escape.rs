//! Starts a descendant outside of its process group, and exits with 0.
//!
//! `escape setsid|double-fork|setpgid FILE [stay]`: the descendant's pid goes into FILE once it has left;
//! with `stay`, the first process prints `ready` and does not exit.
#![expect(unsafe_code, reason = "fork and setsid have no safe form")]

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (way, file) = (arguments[1].as_str(), arguments[2].as_str());
    let stays = arguments.get(3).is_some_and(|word| word == "stay");
    // SAFETY: the process has one thread.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            match way {
                "setsid" => {
                    libc::setsid();
                }
                "setpgid" => {
                    libc::setpgid(0, 0);
                }
                "double-fork" => {
                    libc::setsid();
                    if libc::fork() != 0 {
                        libc::_exit(0);
                    }
                }
                other => panic!("unknown way {other}"),
            }
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            let part = format!("{file}.part");
            std::fs::write(&part, std::process::id().to_string()).expect("written");
            std::fs::rename(&part, file).expect("renamed");
            stay();
        }
        if way == "double-fork" {
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
    }
    // The descendant must have left before this process exits, or it is ended as a part of the run.
    while !std::path::Path::new(file).exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    if stays {
        println!("ready");
        stay();
    }
}

fn stay() -> ! {
    loop {
        // SAFETY: always sound.
        unsafe { libc::pause() };
    }
}
