//! The service that a profile is about, by the attributes of OpenTelemetry.

use clap::Args;

/// The options that name the service of profiles without these attributes.
#[derive(Debug, Default, Args)]
pub struct ServiceOptions {
    /// Set the service of profiles that name none, in a .parquet file
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Set the version of profiles that name none, in a .parquet file
    #[arg(long, value_name = "VERSION")]
    service_version: Option<String>,
    /// Set the host of profiles that name none, in a .parquet file
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

/// The beginning of the name of a service that has none.
const UNKNOWN_SERVICE: &str = "unknown_service";

impl ServiceOptions {
    /// Returns the name of the service. `recorded` is the profile's own.
    pub fn name<'s>(&'s self, recorded: Option<&'s str>) -> &'s str {
        let known = recorded.filter(|name| !name.starts_with(UNKNOWN_SERVICE));
        known.or(self.service.as_deref()).or(recorded).unwrap_or(UNKNOWN_SERVICE)
    }

    pub fn version<'s>(&'s self, recorded: Option<&'s str>) -> Option<&'s str> {
        recorded.or(self.service_version.as_deref())
    }

    pub fn host<'s>(&'s self, recorded: Option<&'s str>) -> Option<&'s str> {
        recorded.or(self.host.as_deref())
    }

    /// True if no option is set.
    pub fn is_empty(&self) -> bool {
        self.service.is_none() && self.service_version.is_none() && self.host.is_none()
    }
}
