//! One connection: sends statements in one go and waits for their answers.
//!
//! Callers are threads. They poll the driver's futures themselves; the runtime that reads and
//! writes the socket has a thread of its own. Statements of one batch are sent before the first
//! answer is awaited, so a batch costs one round trip.

use std::{
    borrow::Cow,
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio_postgres::{Client, Row, Statement, types::ToSql};

use super::{failure, text::stored};
use crate::StoreError;

/// How long an answer is awaited: longer than the server waits for a lock.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);

/// A parameter of a statement.
pub(super) type SqlParameter = Box<dyn ToSql + Sync + Send>;

/// One statement on its way to the server.
pub(super) struct Order {
    pub(super) action: &'static str,
    pub(super) sql: Cow<'static, str>,
    /// `None` sends the text as it is: for statements that begin and end transactions.
    pub(super) parameters: Option<Arc<Vec<SqlParameter>>>,
}

impl Order {
    pub(super) fn plain(action: &'static str, sql: &'static str) -> Self {
        Self { action, sql: Cow::Borrowed(sql), parameters: None }
    }

    pub(super) fn of(
        action: &'static str,
        sql: impl Into<Cow<'static, str>>,
        parameters: Vec<SqlParameter>,
    ) -> Self {
        Self { action, sql: sql.into(), parameters: Some(Arc::new(parameters)) }
    }
}

/// A value as a parameter.
pub(super) fn parameter(value: impl ToSql + Sync + Send + 'static) -> SqlParameter {
    Box::new(value)
}

/// A number as a column has it; what is larger than any is the largest.
pub(super) fn number(value: u64) -> SqlParameter {
    parameter(signed(value))
}

pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn text(value: &str) -> SqlParameter {
    parameter(stored(value).into_owned())
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send>>;

/// A connection with the statements that it has prepared.
pub(super) struct PostgresLink {
    client: Arc<Client>,
    statements: HashMap<Cow<'static, str>, Statement>,
}

impl PostgresLink {
    pub(super) fn new(client: Client) -> Self {
        Self { client: Arc::new(client), statements: HashMap::new() }
    }

    /// Whether the server has ended the connection, as far as that is known.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs all statements in order; the rows of each. After an error the rest counts as not run.
    pub(super) fn run(&mut self, orders: &[Order]) -> Result<Vec<Vec<Row>>, StoreError> {
        self.prepare(orders)?;
        let actions: Vec<&'static str> = orders.iter().map(|order| order.action).collect();
        let answers = orders.iter().map(|order| self.send(order)).collect();
        let answers = wait_for_all(answers, actions.first().copied().unwrap_or("talked"))?;
        let translated = |(answer, action): (Result<Vec<Row>, _>, _)| {
            answer.map_err(|error| failure::translate(action, &error))
        };
        answers.into_iter().zip(actions).map(translated).collect()
    }

    /// Sends a statement and does not wait for its answer.
    pub(super) fn forget(&mut self, sql: &'static str) {
        let mut answer = self.send(&Order::plain("ended", sql));
        let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(Err(error)) = polled {
            tracing::debug!(%error, "could not end a transaction; its connection is lost");
        }
    }

    fn prepare(&mut self, orders: &[Order]) -> Result<(), StoreError> {
        let mut missing: Vec<Cow<'static, str>> = Vec::new();
        for order in orders.iter().filter(|order| order.parameters.is_some()) {
            if !self.statements.contains_key(&order.sql) && !missing.contains(&order.sql) {
                missing.push(order.sql.clone());
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let prepare = |sql: &Cow<'static, str>| -> Answer<Statement> {
            let client = Arc::clone(&self.client);
            let sql = sql.clone();
            Box::pin(async move { client.prepare(&sql).await })
        };
        let action = "prepared a statement";
        let prepared = wait_for_all(missing.iter().map(prepare).collect(), action)?;
        for (sql, statement) in missing.into_iter().zip(prepared) {
            let statement = statement.map_err(|error| failure::translate(action, &error))?;
            self.statements.insert(sql, statement);
        }
        Ok(())
    }

    fn send(&self, order: &Order) -> Answer<Vec<Row>> {
        let client = Arc::clone(&self.client);
        let Some(parameters) = order.parameters.clone() else {
            let sql = order.sql.clone();
            return Box::pin(async move {
                client.batch_execute(&sql).await?;
                Ok(Vec::new())
            });
        };
        let statement = self.statements.get(&order.sql).cloned();
        let statement = statement.unwrap_or_else(|| unreachable!("prepared before it is sent"));
        Box::pin(async move {
            let parameters: Vec<&(dyn ToSql + Sync)> =
                parameters.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            client.query(&statement, &parameters).await
        })
    }
}

/// Wakes a thread that waits for an answer.
struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Starts all futures in order, then waits until they are done. The server answers in order.
fn wait_for_all<T>(
    mut answers: Vec<Answer<T>>,
    action: &'static str,
) -> Result<Vec<Result<T, tokio_postgres::Error>>, StoreError> {
    let waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let deadline = Instant::now() + ANSWER_WAIT_MAX;
    let mut early: Vec<Option<Result<T, _>>> = Vec::with_capacity(answers.len());
    for answer in &mut answers {
        early.push(match answer.as_mut().poll(&mut context) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        });
    }
    let mut done = Vec::with_capacity(answers.len());
    for (mut answer, outcome) in answers.into_iter().zip(early) {
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => wait_for(&mut answer, &mut context, deadline)
                .ok_or_else(|| failure::no_answer(action))?,
        };
        done.push(outcome);
    }
    Ok(done)
}

fn wait_for<T>(
    answer: &mut Answer<T>,
    context: &mut Context<'_>,
    deadline: Instant,
) -> Option<Result<T, tokio_postgres::Error>> {
    loop {
        if let Poll::Ready(outcome) = answer.as_mut().poll(context) {
            return Some(outcome);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        thread::park_timeout(left);
    }
}
