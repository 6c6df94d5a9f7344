//! The one way to ask a session for something.
//!
//! A call is a value in the file of what it is about: it holds what is asked, and carries it out. Calls wait in a bounded
//! queue and run one after another in the task of the session. A caller learns that the session has ended instead of a
//! reply; a caller that stops waiting takes nothing back.

use codex_session_base::ports::SessionInput;
use codex_session_base::requests::Requests;
use codex_session_base::thread::ThreadClosed;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::actor::SessionActor;

/// What is asked of a session. It sees all of the session, and nothing else happens in it meanwhile.
///
/// A call that replies before it is carried out, or long after, holds a [`oneshot::Sender`] and is sent with
/// [`Thread::ask`](super::Thread::ask).
pub trait ThreadCall: Send + 'static {
    /// What the caller gets once the call is carried out.
    type Reply: Send + 'static;

    /// The input for the model that it is. None if it changes nothing of what the model is sent, or if the session tells of the
    /// change itself.
    fn observed(&self) -> Option<SessionInput> {
        None
    }

    /// Carries it out.
    fn run(self, session: &mut SessionActor) -> impl Future<Output = Self::Reply> + Send;
}

/// What a caller gets who waits.
pub trait CallReply: Send + 'static {
    /// The session has ended instead.
    fn closed() -> Self;
}

impl<T: Send + 'static, E: From<ThreadClosed> + Send + 'static> CallReply for Result<T, E> {
    fn closed() -> Self {
        Err(ThreadClosed.into())
    }
}

/// A call of any kind in the queue.
pub(crate) trait QueuedCall: Send {
    fn observed(&self) -> Option<SessionInput>;

    /// The future is boxed, so that an idle session holds no room for it.
    fn run<'a>(self: Box<Self>, session: &'a mut SessionActor) -> BoxFuture<'a, ()>;
}

struct WaitingCall<C: ThreadCall> {
    call: C,
    /// None if nobody waits.
    reply: Option<oneshot::Sender<C::Reply>>,
}

impl<C: ThreadCall> QueuedCall for WaitingCall<C> {
    fn observed(&self) -> Option<SessionInput> {
        self.call.observed()
    }

    fn run<'a>(self: Box<Self>, session: &'a mut SessionActor) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let reply = self.call.run(session).await;
            if let Some(caller) = self.reply {
                // If the caller does not wait any more, nobody takes it.
                let _ = caller.send(reply);
            }
        })
    }
}

/// Where the session takes its calls from. Boxes, because a queue has room for 32 messages from the start.
pub(crate) type CallReceiver = mpsc::Receiver<Box<dyn QueuedCall>>;

/// The queue of a session. It keeps the session running.
#[derive(Clone, Debug)]
pub(crate) struct CallQueue(mpsc::Sender<Box<dyn QueuedCall>>);

impl CallQueue {
    /// A queue in which so many calls may wait.
    pub(crate) fn new(most: usize) -> (Self, CallReceiver) {
        let (sender, receiver) = mpsc::channel(most);
        (Self(sender), receiver)
    }

    /// Waits for room in the queue, and then for the reply.
    pub(crate) async fn call<C: ThreadCall<Reply: CallReply>>(&self, call: C) -> C::Reply {
        let (reply, answer) = oneshot::channel();
        if self.put(call, Some(reply)).await.is_err() {
            return CallReply::closed();
        }
        answer.await.unwrap_or_else(|_| CallReply::closed())
    }

    /// The same for a call that replies itself.
    pub(crate) async fn ask<C: ThreadCall, R: CallReply>(
        &self,
        call: impl FnOnce(oneshot::Sender<R>) -> C,
    ) -> R {
        let (reply, answer) = oneshot::channel();
        if self.send(call(reply)).await.is_err() {
            return CallReply::closed();
        }
        answer.await.unwrap_or_else(|_| CallReply::closed())
    }

    /// Waits for room in the queue alone.
    pub(crate) async fn send(&self, call: impl ThreadCall) -> Result<(), ThreadClosed> {
        self.put(call, None).await
    }

    async fn put<C: ThreadCall>(
        &self,
        call: C,
        reply: Option<oneshot::Sender<C::Reply>>,
    ) -> Result<(), ThreadClosed> {
        let call = Box::new(WaitingCall { call, reply });
        self.0.send(call).await.map_err(|_| ThreadClosed)
    }

    /// Waits for nothing. Returns false if the queue is full or the session has ended.
    pub(crate) fn try_send<C: ThreadCall>(&self, call: C) -> bool {
        let call = Box::new(WaitingCall { call, reply: None });
        self.0.try_send(call).is_ok()
    }

    /// The same queue for one kind of requests of what stands below the session.
    pub(crate) fn requests<R: ThreadCall>(&self) -> Requests<R> {
        let queue = self.clone();
        Requests::new(move |request| {
            let queue = queue.clone();
            Box::pin(async move { queue.send(request).await.ok() })
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Waits for the end of the session.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// The same queue, which does not keep the session running.
    pub(crate) fn downgrade(&self) -> WeakCallQueue {
        WeakCallQueue(self.0.downgrade())
    }
}

/// The queue of a session, for what runs in the session itself.
#[derive(Clone, Debug)]
pub(crate) struct WeakCallQueue(mpsc::WeakSender<Box<dyn QueuedCall>>);

impl WeakCallQueue {
    /// The queue, if the session goes on.
    pub(crate) fn upgrade(&self) -> Option<CallQueue> {
        self.0.upgrade().map(CallQueue)
    }
}
