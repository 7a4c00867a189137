//! A real PostgreSQL for tests: its own data in a temporary folder, its own port, synced writes.
//!
//! This file depends on no other one, so that the tests of the store, which this crate depends on,
//! can include it.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt as _, chown},
        net::UnixStream,
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Folder with the programs of the server, for machines without the system's package.
const FOLDER_VARIABLE: &str = "MUSTER_TEST_POSTGRES";
/// Where the system's package puts them, below the folder of each version.
const PACKAGE_FOLDER: &str = "/usr/lib/postgresql";
/// Its user and password.
pub const USER: &str = "muster";
pub const PASSWORD: &str = "a secret of the tests";
/// The server refuses to run as root; this user exists everywhere.
const NOBODY: u32 = 65_534;
/// How long a start may take.
const START_MAX: Duration = Duration::from_secs(60);

/// A running server; dropping it stops it and removes its data.
pub struct PostgresServer {
    home: TempDir,
    programs: PathBuf,
    process: Option<Child>,
    port: u16,
}

impl PostgresServer {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If its programs are not installed.
    pub fn start() -> Self {
        let programs = programs().unwrap_or_else(|| {
            panic!("PostgreSQL is not installed; {FOLDER_VARIABLE} names a folder of its programs")
        });
        let home = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { home, programs, process: None, port };
        server.create();
        server.resume();
        server
    }

    fn create(&self) {
        let folder = self.home.path();
        if is_root(folder) {
            chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let password = folder.join("password");
        fs::write(&password, PASSWORD).unwrap();
        let mut create = self.command("initdb");
        create.args(["--username", USER, "--auth-host", "scram-sha-256", "--auth-local", "trust"]);
        create.args(["--encoding", "UTF8", "--no-locale", "--no-sync", "--pwfile"]).arg(password);
        let created = create.arg("--pgdata").arg(self.data()).output().unwrap();
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    }

    /// Starts the server again after [`Self::stop`].
    pub fn resume(&mut self) {
        let log = File::options().create(true).append(true).open(self.home.path().join("log"));
        let mut start = self.command("postgres");
        start.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-k"]);
        start.arg(self.home.path()).args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=on"]);
        start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.unwrap());
        self.process = Some(start.spawn().unwrap());
        let started = Instant::now();
        while let Err(error) = self.run("postgres", "SELECT 1") {
            assert!(started.elapsed() < START_MAX, "{error}: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the server and all connections to it at once, as a crash does.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let mut stop = self.command("pg_ctl");
        stop.args(["stop", "-m", "immediate", "-D"]).arg(self.data());
        drop(stop.stdin(Stdio::null()).output());
        drop(process.kill());
        drop(process.wait());
    }

    /// Creates a database; returns its address.
    pub fn database(&self, name: &str) -> String {
        self.run("postgres", &format!("CREATE DATABASE \"{name}\"")).unwrap();
        self.address(name)
    }

    /// The address of a database.
    pub fn address(&self, name: &str) -> String {
        let password = PASSWORD.replace(' ', "%20");
        format!("postgres://{USER}:{password}@127.0.0.1:{}/{name}", self.port)
    }

    /// Runs a statement in a database, through the local socket, which needs no password.
    pub fn run(&self, database: &str, sql: &str) -> io::Result<()> {
        let socket = self.home.path().join(format!(".s.PGSQL.{}", self.port));
        let mut stream = UnixStream::connect(socket)?;
        let startup = format!("user\0{USER}\0database\0{database}\0\0");
        let mut message = vec![0, 3, 0, 0];
        message.extend(startup.as_bytes());
        stream.write_all(&framed(&message))?;
        until_ready(&mut stream)?;
        let mut query = vec![b'Q'];
        query.extend(framed(format!("{sql}\0").as_bytes()));
        stream.write_all(&query)?;
        until_ready(&mut stream)
    }

    /// Gives the server a certificate for its address, which it encrypts with from its next start
    /// on; `None` if no program makes certificates here.
    pub fn certify(&self) -> Option<PathBuf> {
        let certificate = self.data().join("server.crt");
        let mut make = self.as_server(Path::new("openssl"));
        make.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]);
        make.args(["-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1"]);
        make.args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"]);
        make.arg(self.data().join("server.key")).arg("-out").arg(&certificate);
        let made = make.output().ok()?;
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let settings = self.data().join("postgresql.auto.conf");
        let settings = File::options().append(true).open(settings);
        settings.unwrap().write_all(b"ssl = on\n").unwrap();
        // What only the server may read is copied for those who connect.
        let copy = self.home.path().join("authority.pem");
        fs::copy(certificate, &copy).unwrap();
        Some(copy)
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    fn command(&self, program: &str) -> Command {
        self.as_server(&self.programs.join(program))
    }

    /// A program with the rights of the server.
    fn as_server(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.home.path()).env("LC_ALL", "C");
        if is_root(Path::new("/proc/self")) {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A message with its length in front.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len() + 4).unwrap();
    [&length.to_be_bytes()[..], message].concat()
}

/// Reads messages until the server waits for the next statement.
fn until_ready(stream: &mut UnixStream) -> io::Result<()> {
    let mut failure = None;
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        match head[0] {
            b'E' => failure = Some(String::from_utf8_lossy(&body).replace('\0', " ")),
            b'Z' => return failure.map_or(Ok(()), |failure| Err(io::Error::other(failure))),
            _ => {}
        }
    }
}

/// Whether a file of this process belongs to root.
fn is_root(own: &Path) -> bool {
    fs::metadata(own).is_ok_and(|file| file.uid() == 0)
}

/// Where the programs of the server are: those of the newest installed version.
fn programs() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        return Some(PathBuf::from(folder));
    }
    let versions = fs::read_dir(PACKAGE_FOLDER).ok()?.flatten().map(|entry| entry.path());
    let number = |folder: &PathBuf| -> Option<u32> {
        folder.file_name()?.to_str()?.parse().ok().filter(|_| folder.join("bin/initdb").exists())
    };
    let newest = versions.filter(|folder| number(folder).is_some()).max_by_key(number)?;
    Some(newest.join("bin"))
}
