//! The contract, proved on the real binary with real processes. Each test names the lines it proves.

mod daemon;
mod setup;

// The eight cases of R19.
mod direct_exit;
mod lease_contention;
mod manual_cancel;
mod no_descriptors;
mod no_output_timeout;
mod overall_timeout;
mod pty_interactive;
mod restart_reconcile;
mod shell_wrapper_tree;

// And beyond them.
mod at_boot;
mod attacks;
mod bad_input;
mod crash_at_every_commit;
mod escape;
mod first_commands;
mod full_disk;
mod guardian_garbage;
mod init;
mod last_resort;
mod limits;
mod output;
mod run_clients;
mod run_parents;
mod sandboxed;
mod scope_key;
mod shutdown;
mod spawn_errors;
mod verbs;

// The guardian above it all.
mod adoption;
mod adoption_output;
mod bad_homes;
mod campaign;
mod daemon_crash;
mod daemon_files;
mod daemon_start;
mod daemon_status;
mod daemon_stop;
mod guardian_loss;
mod races;
mod upgrade;

// Texts into terminals.
mod nudge;
mod nudge_lines;
mod nudge_setup;
mod nudge_texts;
mod nudge_tmux;

// Units: declared once, kept as declared.
mod patrol;
mod patrol_attacks;
mod patrol_setup;
mod patrol_triage;
mod pools;
mod resume;
mod sleep;
mod units;
mod units_again;
mod units_checks;
mod units_daemon;
mod units_env;
mod units_final;
mod units_health;
mod units_kills;
mod units_model;
mod units_order;
mod units_ready;
mod units_reload;
mod units_restart;
mod units_settings;
mod units_struck;
mod units_up;

// Units, seen.
mod unit_progress;
mod unit_seeing;
mod unit_shell;
mod unit_top;

// Apps: units that talk back.
mod app_manifest;
mod apps_crash;
mod apps_heartbeat;
mod apps_hostile;
mod apps_operator;
mod apps_register;
mod apps_restart;
mod apps_rust;
mod apps_setup;
mod apps_start;
mod apps_stop;
mod apps_wire;

// Apps over HTTP.
mod http;
mod http_hostile;
mod http_setup;

// One server in the foreground.
mod versions;
mod watch;
mod watch_end;
mod watch_health;
mod watch_setup;

// Containers, on real engines.
mod containers;
mod containers_agents;
mod containers_away;
mod containers_hostile;
mod containers_probes;
mod containers_service;
mod containers_setup;

// Screens, and agents on them.
mod agents;
mod agents_answer;
mod agents_nudge;
mod agents_setup;
mod agents_told;
mod screen;

// Sessions of tmux.
mod tmux;
mod tmux_apart;
mod tmux_daemons;
mod tmux_inside;
mod tmux_kept;
mod tmux_own;
mod tmux_setup;
mod tmux_struck;

// Mail, and what the patrol remembers.
mod mail;
mod mail_door;
mod mail_identity;
mod mail_kills;
mod mail_many;
