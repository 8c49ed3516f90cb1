//! Checks that the scripts of a container's checks exist in it: a missing script would fail for ever.

use crate::exec;
use bollard::Docker;
use ostler_model::ContainerOrder;
use std::time::Duration;
use tokio::time::timeout;

/// After this time the result is unknown.
const MOST: Duration = Duration::from_secs(10);
const NOT_THERE: i32 = 44;

/// Why a script is missing, as an error message.
pub(crate) async fn missing(docker: &Docker, order: &ContainerOrder) -> Option<String> {
    for script in &order.spec.scripts {
        let look = format!("test -f \"/code/$1\" || exit {NOT_THERE}");
        let command = ["sh", "-c", &look, "sh", script].map(str::to_owned).into();
        let mark = exec::mark();
        let looked = exec::run(docker, order, command, &mark);
        if let Ok(Ok(NOT_THERE)) = timeout(MOST, looked).await {
            return Some(format!(
                "/code/{script} is not in the container, but the health check in its manifest needs it: \
                 add it to the image or the volume, or remove it from the manifest"
            ));
        }
    }
    None
}
