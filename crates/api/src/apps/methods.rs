//! Methods for apps.

use super::gateway::read;
use crate::server::Shared;
use ostler_engine::{AppReport, Claim, Refused, config_version};
use ostler_model::What;
use ostler_model::app_wire::{Fault, FaultCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const PROTOCOL: &str = "1.0";
/// The shutdown timeout of an app that gives none.
const LEAVING_MS: u64 = 30_000;

#[derive(Deserialize)]
struct Registration {
    manifest: RegisterCall,
    #[serde(default)]
    secret: Option<String>,
}

#[derive(Deserialize)]
struct RegisterCall {
    id: Option<String>,
    r#type: Option<Value>,
    protocol: Option<Protocol>,
}

#[derive(Deserialize)]
struct Protocol {
    version: Option<Value>,
}

/// Registers the app that the caller has proved to be.
pub(crate) async fn register(
    params: Value,
    pid: i32,
    shared: &Shared,
) -> Result<(Arc<AppReport>, Value), Fault> {
    let Registration { manifest, secret } = read(params)?;
    let version = manifest.protocol.and_then(|protocol| protocol.version);
    let (Some(id), Some(_), Some(version)) = (manifest.id, manifest.r#type, version) else {
        let description = "the manifest needs id, type and protocol.version";
        return Err(Fault::new(FaultCode::InvalidParams, description));
    };
    let version = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
    if version.split('.').next() != PROTOCOL.split('.').next() {
        let description =
            format!("protocol.version is {version:?}, but this supervisor has {PROTOCOL}");
        return Err(Fault::new(FaultCode::InvalidParams, description));
    }
    let claim = Claim { app: id.clone(), pid, secret };
    let report = shared.engine.register(claim).await.map_err(|refused| match refused {
        Refused::NotRunning => {
            let description = format!("app {id:?} is not running; start it with `ostler start`");
            Fault::new(FaultCode::NotFound, description)
        }
        Refused::Stranger => {
            let description = format!(
                "process {pid} does not belong to the run that was started for {id:?}, and does not have its launch secret"
            );
            Fault::new(FaultCode::Forbidden, description)
        }
    })?;
    if report.register() {
        let why = format!("as {id}");
        shared.engine.note_app(&report, What::AppRegistered, why, json!({ "pid": pid }));
    }
    let interval = report.heartbeat.unwrap_or_default().interval_ms;
    let result = json!({
        "appId": id,
        "token": shared.engine.apps().proof().token(report.run),
        "protocolVersion": PROTOCOL,
        "heartbeatInterval": interval,
    });
    Ok((report, result))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeartbeatCall {
    status: Option<Value>,
    busy_until: Option<u64>,
    busy_for: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LeaveCall {
    reason: Option<String>,
    timeout: Option<u64>,
}

/// Methods for a registered app.
pub(crate) async fn call(
    method: &str,
    params: Value,
    report: &Arc<AppReport>,
    shared: &Shared,
) -> Result<Value, Fault> {
    let params = if params.is_null() { json!({}) } else { params };
    match method {
        "app.heartbeat" => {
            let beat: HeartbeatCall = read(params)?;
            let now_ms = ostler_os::wall_ms();
            let until = beat.busy_until.map(|until| until.saturating_sub(now_ms));
            report.beat(beat.busy_for.or(until), beat.status.as_ref());
            Ok(json!({ "ok": true, "serverTime": now_ms }))
        }
        "app.ready" => {
            report.report_ready();
            Ok(json!({ "ok": true }))
        }
        "app.shutdown" => {
            let leaving: LeaveCall = read(params)?;
            report.leaving(leaving.timeout.unwrap_or(LEAVING_MS));
            let reason = leaving.reason.unwrap_or_else(|| "no reason given".to_owned());
            let reason: String = reason.chars().take(200).collect();
            shared.engine.note_app(report, What::AppLeaving, reason, json!({}));
            // The app may exit as soon as it gets the answer. This waits until the dispatcher has handled the notice.
            shared.engine.live().await;
            Ok(json!({ "ok": true }))
        }
        "config.get" => {
            let views = shared.engine.app_views().await;
            let app = views.iter().find(|(view, _)| view.name == report.unit);
            let config = app.map(|(_, app)| app.config.clone()).filter(|config| !config.is_null());
            let config = config.unwrap_or_else(|| json!({}));
            let version = config_version(app.map_or(&Value::Null, |(_, app)| &app.config));
            Ok(json!({ "config": config, "version": version }))
        }
        _ => {
            Err(Fault::new(FaultCode::MethodNotFound, format!("method {method:?} does not exist")))
        }
    }
}
