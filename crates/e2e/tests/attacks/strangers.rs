//! What another user may try: refused before anything is sent to him.

use crate::both;

/// The ground the other tests stand on: the one home is root's where the tests are, the other is not.
#[test]
fn an_ordinary_user_has_a_home_of_its_own() {
    for home in both() {
        let said = home.run(&[], &["id", "-u"]);
        assert_eq!(said["exitCode"], 0, "{said}");
        home.stop();
    }
}
