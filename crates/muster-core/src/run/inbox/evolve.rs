//! Inputs that wait for a node.

use crate::run::{
    RunDocument, RunKey,
    event::{HandoffSent, InboxChanged, ItemFate, MessageQueued},
    evolve::{Applied, FactPlace, RunDocs},
    inbox::{InboxContent, InboxItem, ItemKind, ItemState},
    turn::evolve as turn_evolve,
};

pub(crate) fn handoff_sent(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    sent: &HandoffSent,
) -> Applied {
    let envelope = &sent.envelope;
    let receiver = envelope.to_node_id;
    let own = !envelope.meta.auto;
    turn_evolve::change(docs, place, |turn| {
        turn.handoffs += u32::from(own);
        if !turn.sent_to.contains(&receiver) {
            turn.sent_to.push(receiver);
        }
    })?;
    put(
        docs,
        InboxItem {
            id: envelope.id,
            node_id: receiver,
            kind: ItemKind::Handoff,
            order: sent.order,
            interrupt: false,
            state: ItemState::Queued,
            enqueued_at: place.at,
            consumed_turn_id: None,
            tool_id: None,
            content: InboxContent::Envelope(Box::new(envelope.clone())),
        },
    );
    Ok(())
}

pub(crate) fn message_queued(
    docs: &mut RunDocs,
    place: FactPlace<'_>,
    queued: &MessageQueued,
) -> Applied {
    let Some(node_id) = queued.message.node_id else { return Ok(()) };
    put(
        docs,
        InboxItem {
            id: queued.message.id,
            node_id,
            kind: queued.kind,
            order: queued.order,
            interrupt: queued.message.interrupt,
            state: ItemState::Queued,
            enqueued_at: place.at,
            consumed_turn_id: None,
            tool_id: queued.tool_id,
            content: InboxContent::Message(queued.message.clone()),
        },
    );
    Ok(())
}

fn put(docs: &mut RunDocs, item: InboxItem) {
    docs.create(RunKey::Item(item.id), RunDocument::Item(Box::new(item)));
}

pub(crate) fn changed(docs: &mut RunDocs, changed: &InboxChanged) -> Applied {
    let Some(RunDocument::Item(item)) = docs.edit(&RunKey::Item(changed.item_id))? else {
        return Ok(());
    };
    item.state = match changed.state {
        ItemFate::Cancelled => ItemState::Cancelled,
        ItemFate::Dropped => ItemState::Dropped,
        ItemFate::Returned => ItemState::Queued,
        ItemFate::Failed => ItemState::Failed,
    };
    if changed.state == ItemFate::Returned {
        item.consumed_turn_id = None;
    }
    Ok(())
}
