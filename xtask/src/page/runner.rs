//! Runs programs on JDKs under profilers, for all pages.
//!
//! JDKs, packages and workloads are those of `scripts/lib`, which tests share. A run counts only if
//! its program did its work: a workload checks its own results. All runs use a copy of the agent,
//! so that a build during the runs changes nothing.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow};

/// Builds the agent, and runs programs with it on the JDKs of this machine.
#[derive(Debug)]
pub struct Runner {
    /// The folder of all logs.
    pub logs: PathBuf,
    /// The folder of the runs' output. It stays until the page is made again.
    pub runs: PathBuf,
    /// The newest JDK that the tests' own tools run on.
    pub newest: PathBuf,
    /// The copies of the agent and of the command.
    bin: PathBuf,
}

/// A JDK of this machine.
#[derive(Debug, Clone)]
pub struct Jdk {
    pub major: u32,
    pub home: PathBuf,
}

/// The result of running a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The workload did its work, and its results were right.
    Done,
    /// The workload cannot run on this JDK. Its log says why.
    CannotRun,
    /// The workload ended with this exit code, or by a signal.
    Failed(i32),
}

impl Outcome {
    /// Returns an error with the last line of the log, unless all is done.
    pub fn check(self, what: &str, log: &Path) -> Result<()> {
        match self {
            Self::Done => Ok(()),
            _ => Err(anyhow!("{what} failed: {}: see {}", last_line(log), shown(log))),
        }
    }
}

/// Environment variables that would change which JVM starts, or what it prints.
const JVM_VARIABLES: [&str; 5] =
    ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "LD_LIBRARY_PATH", "LD_PRELOAD"];

/// How the names of the variables begin that `cargo run` sets for its package.
const OF_PACKAGE: [&str; 2] = ["CARGO_PKG_", "CARGO_MANIFEST_"];

/// The shell code that the functions of `scripts/lib` need. `$0` is the folder of logs.
const PRELUDE: &str = "set -euo pipefail; top=$PWD logs=$0; source scripts/lib/jdks.sh; \
                       source scripts/lib/setup.sh; source scripts/lib/workloads.sh; ";

/// Makes the repository's top the working directory.
pub fn enter_repository() -> Result<()> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::set_current_dir(&top).with_context(|| shown(&top))
}

/// Returns the number of the machine's processors.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns a path as it is printed: from the repository's top, if it is below that.
pub fn shown(path: &Path) -> String {
    let top = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(top).unwrap_or(path).display().to_string()
}

/// Returns the last line of a log.
pub fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or_default().to_owned()
}

/// True if an agent that disturbs the program did something. Its log has a line such as `storm:
/// 12`.
pub fn weather_came(log: &Path, agent: &str) -> bool {
    let text = fs::read_to_string(log).unwrap_or_default();
    let count = |line: &str| line.strip_prefix(agent)?.strip_prefix(": ")?.chars().next();
    text.lines().filter_map(count).any(|digit| matches!(digit, '1'..='9'))
}

/// True if a folder has a file with this prefix.
pub fn wrote_a_file(folder: &Path, beginning: &str) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(beginning)))
}

/// Returns the files of a folder with this ending, ordered by name.
pub fn files_with_ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| shown(folder))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file.to_str().is_some_and(|name| name.ends_with(ending)))
        .collect();
    files.sort();
    Ok(files)
}

/// Returns the JDK's version as text, such as `JDK 25.0.1`.
pub fn release_of(home: &Path) -> Result<String> {
    let output = Command::new(home.join("bin/java")).arg("-version").output();
    let output = output.with_context(|| shown(home))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let version = text.split('"').nth(1).with_context(|| format!("java -version printed {text}"))?;
    Ok(format!("JDK {version}"))
}

/// Runs a command with all its output in a log.
pub fn run_logged(command: &mut Command, log: &Path) -> Result<Outcome> {
    let file = File::create(log).with_context(|| shown(log))?;
    let errors = file.try_clone().with_context(|| shown(log))?;
    let status = command.stdin(Stdio::null()).stdout(file).stderr(errors).status();
    let status = status.with_context(|| format!("{}", command.get_program().display()))?;
    Ok(match status.code() {
        Some(0) => Outcome::Done,
        Some(3) => Outcome::CannotRun,
        code => Outcome::Failed(code.unwrap_or(-1)),
    })
}

impl Runner {
    /// Builds the agent and the command, and makes folders for the runs of this page.
    pub fn new(page: &str) -> Result<Self> {
        let top = std::env::current_dir()?;
        let target = top.join("target");
        let folder = target.join("page").join(page);
        let mut runner = Self {
            logs: target.join("test-logs").join(page),
            runs: folder.join("runs"),
            newest: PathBuf::new(),
            bin: folder.join("bin"),
        };
        for folder in [&runner.logs, &runner.runs, &runner.bin] {
            fs::create_dir_all(folder).with_context(|| shown(folder))?;
        }
        runner.newest = runner.shell("need_toolchains >&2; printf '%s' \"$newest\"", &[])?.into();
        runner.shell("build_agent --workspace >&2", &[])?;
        for file in ["libvouch.so", "libvouch_lab.so", "vouch"] {
            let (built, copy) = (target.join("release").join(file), runner.bin.join(file));
            // The file is replaced and not overwritten, because a JVM may have loaded the old one.
            let _ = fs::remove_file(&copy);
            fs::copy(&built, copy).with_context(|| shown(&built))?;
        }
        Ok(runner)
    }

    /// Returns an error if runs failed. It is called last, so that the page is still made from the
    /// other runs.
    pub fn report_failed(&self, failed: u32) -> Result<()> {
        if failed == 0 { Ok(()) } else { Err(anyhow!("{failed} runs failed: see {}", shown(&self.logs))) }
    }

    /// Removes the output of earlier runs.
    pub fn clear_runs(&self) -> Result<()> {
        fs::remove_dir_all(&self.runs).with_context(|| shown(&self.runs))?;
        fs::create_dir_all(&self.runs).with_context(|| shown(&self.runs))
    }

    /// Fetches and compiles the programs of `java-tests/workloads`.
    pub fn fetch_workloads(&self) -> Result<()> {
        self.shell("fetch_workloads >&2", &[]).map(drop)
    }

    /// Fetches packages of Maven Central into a folder of `target/tools`, and returns their jars.
    pub fn fetch_jars(&self, folder: &str, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let folder = Path::new("target/tools").join(folder);
        let mut arguments = Vec::new();
        for package in packages {
            let name: Vec<&str> = package.split(':').skip(1).collect();
            let jar = folder.join(format!("{}.jar", name.join("-")));
            arguments.extend([(*package).to_owned(), jar.display().to_string()]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let top = std::env::current_dir()?;
        self.shell("args=(); while (($#)); do args+=(\"$1\" \"$top/$2\"); shift 2; done; fetch_jars \"${args[@]}\" >&2", &arguments)?;
        Ok(arguments.iter().skip(1).step_by(2).map(|jar| top.join(jar)).collect())
    }

    /// Fetches async-profiler, and returns its library.
    pub fn fetch_peer(&self) -> Result<String> {
        self.shell("newest=$1; fetch_peer", &[&self.newest.display().to_string()])
    }

    /// Makes sure that a command is installed. As root it installs a missing one.
    pub fn need(&self, command: &str, package: &str) -> Result<()> {
        self.shell("need \"$1\" \"$2\" >&2", &[command, package]).map(drop)
    }

    /// Returns a variable of `scripts/lib/workloads.sh`.
    pub fn variable(&self, name: &str) -> Result<String> {
        self.shell(&format!("printf '%s' \"${{{name}}}\""), &[])
    }

    /// Returns the JDKs of these versions that this machine has. For an empty list it returns all
    /// JDKs.
    pub fn jdks(&self, majors: &[u32]) -> Result<Vec<Jdk>> {
        let homes = self.shell("jdks_homes", &[])?;
        let jdks = homes.lines().filter_map(|line| {
            let (major, home) = line.split_once('\t')?;
            Some(Jdk { major: major.parse().ok()?, home: home.into() })
        });
        let jdks: Vec<Jdk> = jdks.filter(|jdk| majors.is_empty() || majors.contains(&jdk.major)).collect();
        if jdks.is_empty() {
            Err(anyhow!("none of these JDKs is here: scripts/jdks fetches them"))
        } else {
            Ok(jdks)
        }
    }

    /// Returns the JDK of this version.
    pub fn jdk(&self, major: u32) -> Result<Jdk> {
        let missing = || format!("JDK {major} is not here: scripts/jdks fetches it");
        self.jdks(&[major]).ok().and_then(|mut jdks| jdks.pop()).with_context(missing)
    }

    /// Returns the JVM option that loads the agent with these options.
    pub fn agent(&self, options: &str) -> String {
        format!("-agentpath:{}={options}", self.agent_library())
    }

    /// Returns the JVM option that loads the agent's library for tests with these options.
    pub fn lab_agent(&self, options: &str) -> String {
        format!("-agentpath:{}={options}", self.bin.join("libvouch_lab.so").display())
    }

    /// Returns the path of the agent's library.
    pub fn agent_library(&self) -> String {
        self.bin.join("libvouch.so").display().to_string()
    }

    /// Returns the command `vouch`, to which arguments can be added.
    pub fn vouch(&self) -> Command {
        Command::new(self.bin.join("vouch"))
    }

    /// Runs a workload of `java-tests/workloads`. It ends with the round of work during which these
    /// seconds are over.
    pub fn workload<S: AsRef<OsStr>>(
        &self,
        program: &str,
        seconds: u64,
        jdk: &Jdk,
        options: &[S],
        log: &Path,
    ) -> Result<Outcome> {
        run_logged(&mut self.workload_command(program, seconds, jdk, options), log)
    }

    /// The command of [`Runner::workload`].
    pub fn workload_command<S: AsRef<OsStr>>(
        &self,
        program: &str,
        seconds: u64,
        jdk: &Jdk,
        options: &[S],
    ) -> Command {
        let mut command = self.shell_command("workload \"$@\"");
        command.arg(program).arg(seconds.to_string()).arg(&jdk.home).args(options);
        command
    }

    /// Returns a workload's class path.
    pub fn workload_path(&self, program: &str) -> Result<String> {
        self.shell("workload_path \"$1\"", &[program])
    }

    /// Returns the folder of the sources of this JDK's module java.xml.
    pub fn java_xml(&self, jdk: &Jdk) -> Result<PathBuf> {
        let code = "IFS=$'\\t' read -r major _ version _ < <(jdks_describe \"$1\"); java_xml \"$1\" \"$major\" \"$version\"";
        let folder = self.shell(code, &[&jdk.home.display().to_string()]);
        folder.map(PathBuf::from).context("java.xml has no sources here: scripts/jdks --sources fetches them")
    }

    /// Compiles Java files into a folder.
    pub fn compile<S: AsRef<OsStr>>(&self, jdk: &Path, classes: &Path, arguments: &[S]) -> Result<()> {
        let mut javac = Command::new(jdk.join("bin/javac"));
        let log = self.logs.join("javac.log");
        run_logged(javac.arg("-d").arg(classes).args(arguments), &log)?.check("javac", &log)
    }

    /// Returns a command that starts a JVM, which `timeout` ends after these seconds.
    pub fn java(jdk: &Path, seconds: u64) -> Command {
        let mut command = Command::new("timeout");
        command.arg(seconds.to_string()).arg(jdk.join("bin/java"));
        Self::clean(&mut command);
        command
    }

    /// Removes variables that would change which JVM a command starts, or what the JVM prints.
    pub fn clean(command: &mut Command) {
        for variable in JVM_VARIABLES {
            command.env_remove(variable);
        }
    }

    /// Calls functions of `scripts/lib`, and returns what they print without the last newline.
    fn shell(&self, code: &str, arguments: &[&str]) -> Result<String> {
        let mut command = self.shell_command(code);
        let output = command.args(arguments).stderr(Stdio::inherit()).output();
        let output = output.context("bash")?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.trim_end() {
            text if output.status.success() => Ok(text.to_owned()),
            "" => Err(anyhow!("{code} {} failed", arguments.join(" "))),
            text => Err(anyhow!("{text}")),
        }
    }

    fn shell_command(&self, code: &str) -> Command {
        let mut command = Command::new("bash");
        command.arg("-c").arg(format!("{PRELUDE}{code}")).arg(&self.logs);
        // `cargo run` sets variables of its package. A build that sees them makes some crates anew.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy();
            if OF_PACKAGE.iter().any(|beginning| name.starts_with(beginning)) {
                command.env_remove(&*name);
            }
        }
        command
    }
}
