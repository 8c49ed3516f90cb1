//! A session of tmux as a run. Its first process for us is a shim, as with a container: it makes the session, passes its
//! output on, tells how the program in it ended, and ends it when it is asked to.
