//! Finds the running container, or creates a new one.

use crate::made_note;
use crate::make;
use crate::ours::{self, NameOwner};
use crate::sd_notify::ShimNotify;
use crate::watch::End;
use bollard::Docker;
use bollard::errors::Error;
use ostler_model::ContainerOrder;
use std::time::Duration;
use tokio::time::sleep;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How many failures of the engine are tolerated before the start fails.
const FAILURES_MOST: u32 = 5;
const CONFLICT: u16 = 409;
/// After this time the supervisor is notified that the engine is slow.
const SLOW: Duration = Duration::from_secs(10);

/// Returns the container's id.
pub(crate) async fn begin(
    docker: &Docker,
    order: &ContainerOrder,
    words: &ShimNotify,
) -> Result<String, End> {
    let mut pause = FIRST_PAUSE;
    let mut failures = 0;
    loop {
        let mut tried = std::pin::pin!(tried(docker, order));
        let begun = tokio::select! {
            begun = &mut tried => begun,
            () = sleep(SLOW) => {
                words.say("STATUS=unknown, deferred: the container engine is slow");
                tried.await
            }
        };
        match begun {
            Ok(id) => return Ok(id),
            Err(Error::DockerResponseServerError { status_code, message })
                if (400..500).contains(&status_code) && status_code != CONFLICT =>
            {
                return Err(End::Refused(refusal(order, status_code, &message)));
            }
            // One engine reports a conflict when the name is taken; the other only reports a failure.
            Err(Error::DockerResponseServerError { status_code, message }) => {
                match ours::holder(docker, order).await {
                    Ok(NameOwner::Other(other)) => {
                        return Err(End::Refused(format!(
                            "container {other}, which ostler did not create, has the name {:?}: \
                             remove or rename it, or give the unit another container_name",
                            order.name()
                        )));
                    }
                    // A container of ours is being removed and still has the name.
                    Ok(NameOwner::Own | NameOwner::Nobody) if status_code == CONFLICT => {}
                    Ok(NameOwner::Own | NameOwner::Nobody) | Err(_) => failures += 1,
                }
                if failures >= FAILURES_MOST {
                    return Err(End::Failed(message.trim().to_owned()));
                }
            }
            // The state is unknown.
            Err(error) => words.say(&format!("STATUS=unknown, deferred: {error}")),
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn tried(docker: &Docker, order: &ContainerOrder) -> Result<String, Error> {
    for found in ours::find(docker, order).await? {
        if found.is_running && found.is_same {
            return Ok(found.id);
        }
        ours::remove(docker, &found.id).await?;
    }
    // The unit's earlier containers are gone.
    made_note::forget(order);
    let _ = made_note::begin(order);
    make::make(docker, order).await
}

fn refusal(order: &ContainerOrder, status: u16, message: &str) -> String {
    let message = message.trim();
    let is_image = message.to_ascii_lowercase().contains("image");
    if status == 404 && is_image {
        return format!(
            "the image {:?} does not exist ({message}); pull it first",
            order.spec.image
        );
    }
    message.to_owned()
}
