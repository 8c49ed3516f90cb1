use crate::find::{error, registry_error};
use crate::server::Shared;
use ostler_engine::NotKept;
use ostler_model::wire::{Answer, ErrorCode, WireError};
use ostler_model::{Mail, MailCall, NudgeCall};

pub(crate) async fn mail(call: MailCall, shared: &Shared) -> Result<Answer, WireError> {
    let engine = &shared.engine;
    let mails = match call {
        MailCall::Send(mut draft) => {
            draft.check().map_err(invalid)?;
            draft.to = mailbox(&draft.to);
            draft.from = mailbox(&draft.from);
            engine.send_mail(draft).await.map(|mail| vec![mail]).map_err(not_kept)?
        }
        MailCall::Inbox { to, unread_only } => page(shared, &to, unread_only, None)?,
        MailCall::Page { to, unread_only, after } => {
            page(shared, &to, unread_only, after.as_deref())?
        }
        MailCall::Show { id } => vec![show(&id, shared)?],
        MailCall::Claim { to, most } => {
            engine.claim_mail(mailbox(&to), most).await.map_err(not_kept)?
        }
        MailCall::Settle { ids, is_read } => {
            engine.settle_mail(ids, is_read).await.map_err(not_kept)?
        }
        MailCall::Remove { ids } => engine.remove_mail(ids).await.map_err(not_kept)?,
        MailCall::Counts => {
            let waiting = shared
                .read(|reader| reader.waiting(engine.instance(), ostler_os::wall_ms()))
                .map_err(registry_error)?;
            return Ok(Answer::Waiting(waiting));
        }
    };
    Ok(Answer::Mails(mails))
}

fn mailbox(name: &str) -> String {
    Mail::mailbox(name).to_owned()
}

fn page(
    shared: &Shared,
    to: &str,
    unread_only: bool,
    after: Option<&str>,
) -> Result<Vec<Mail>, WireError> {
    shared
        .read(|reader| {
            reader.mail_of(shared.engine.instance(), Mail::mailbox(to), unread_only, after)
        })
        .map_err(registry_error)
}

fn show(id: &str, shared: &Shared) -> Result<Mail, WireError> {
    let mut found = shared
        .read(|reader| reader.mail_like(shared.engine.instance(), id))
        .map_err(registry_error)?;
    match (found.pop(), found.is_empty()) {
        (Some(mail), true) => Ok(mail),
        (Some(_), false) => Err(error(
            ErrorCode::AmbiguousRun,
            format!("several messages have ids that end with {id:?}; give more of the id"),
        )),
        (None, _) => Err(error(
            ErrorCode::NoSuchRun,
            format!("there is no mail {id:?}; `ostler mail inbox NAME --all` lists what there is"),
        )),
    }
}

pub(crate) async fn nudges(call: NudgeCall, shared: &Shared) -> Result<Answer, WireError> {
    let engine = &shared.engine;
    let nudges = match call {
        NudgeCall::Queue(draft) => {
            draft.check().map_err(invalid)?;
            engine.queue_nudge(draft).await.map(|nudge| vec![nudge]).map_err(not_kept)?
        }
        NudgeCall::Claim { to, most } => engine.claim_nudges(to, most).await.map_err(not_kept)?,
        NudgeCall::Settle { id, receipt, why } => {
            let settled = engine.settle_nudge(id.clone(), receipt, why).await.map_err(not_kept)?;
            let none = || error(ErrorCode::NoSuchRun, format!("there is no nudge {id:?}"));
            vec![settled.ok_or_else(none)?]
        }
        NudgeCall::List { to } => shared
            .read(|reader| reader.nudges(engine.instance(), to.as_deref(), ostler_os::wall_ms()))
            .map_err(registry_error)?,
    };
    Ok(Answer::Nudges(nudges))
}

fn invalid(message: String) -> WireError {
    error(ErrorCode::InvalidRequest, message)
}

pub(crate) fn not_kept(why: NotKept) -> WireError {
    let code = match &why {
        NotKept::ShuttingDown => ErrorCode::ShuttingDown,
        NotKept::Registry(_) => ErrorCode::RegistryFailed,
        NotKept::Full { .. } | NotKept::IdTaken(_) | NotKept::Changed => ErrorCode::Conflict,
    };
    error(code, why.to_string())
}
