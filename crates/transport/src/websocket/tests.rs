use codex_test_support::PseudoRandom;

use super::super::frame::masked;
use super::*;
use crate::outbox::Limits;

const LIMIT: usize = 1000;

/// The messages in these bytes, and the last reply to a ping.
async fn read(bytes: &[u8]) -> (Vec<InputLine>, FrameError, Option<Vec<u8>>) {
    let control = ControlQueue::default();
    let mut reader = WebSocketReader::new(bytes, LIMIT);
    let mut messages = Vec::new();
    loop {
        match reader.next(&control).await {
            Ok(message) => messages.push(message),
            Err(broken) => return (messages, broken, control.take().map(|(_, payload)| payload)),
        }
    }
}

fn whole(text: &str) -> InputLine {
    InputLine::Whole(text.into())
}

#[tokio::test]
async fn pieces_make_a_message_with_pings_between_them() {
    let bytes = [
        masked(OpCode::Data(Data::Text), false, b"{\"id\""),
        masked(OpCode::Control(Control::Ping), true, b"one"),
        masked(OpCode::Data(Data::Continue), false, b""),
        masked(OpCode::Control(Control::Ping), true, b"two"),
        masked(OpCode::Data(Data::Continue), true, b":1}"),
        masked(OpCode::Data(Data::Binary), true, b"dropped"),
        masked(OpCode::Control(Control::Pong), true, b""),
        masked(OpCode::Data(Data::Text), true, b"next"),
        masked(
            OpCode::Control(Control::Close),
            true,
            &1000_u16.to_be_bytes(),
        ),
    ];
    let (messages, broken, pong) = read(&bytes.concat()).await;
    assert_eq!(messages, [whole("{\"id\":1}"), whole("next")]);
    assert!(matches!(broken, FrameError::Closed));
    assert_eq!(pong.unwrap(), b"two");
}

#[tokio::test]
async fn oversized_message_is_skipped_and_the_next_one_read() {
    let half = vec![b'x'; LIMIT / 2 + 1];
    let bytes = [
        masked(OpCode::Data(Data::Text), true, &half),
        masked(OpCode::Data(Data::Text), false, &half),
        masked(OpCode::Data(Data::Continue), true, &half),
        masked(OpCode::Data(Data::Text), true, b"next"),
    ];
    let (messages, broken, _) = read(&bytes.concat()).await;
    assert_eq!(
        messages,
        [InputLine::Whole(half), InputLine::TooLong, whole("next")]
    );
    assert!(matches!(broken, FrameError::Io(_)));
}

#[tokio::test]
async fn websocket_protocol_violations_close_the_connection() {
    let mut unmasked = Vec::new();
    frame::write(&mut unmasked, OpCode::Data(Data::Text), true, b"x").unwrap();
    let mut reserved = masked(OpCode::Data(Data::Text), true, b"x");
    reserved[0] |= 0x40;
    let mut unknown = masked(OpCode::Data(Data::Text), true, b"x");
    unknown[0] = 0x83;
    for bytes in [
        unmasked,
        reserved,
        unknown,
        masked(OpCode::Data(Data::Continue), true, b"x"),
        masked(OpCode::Control(Control::Ping), false, b"x"),
        masked(OpCode::Control(Control::Ping), true, &[0; 126]),
        [
            masked(OpCode::Data(Data::Text), false, b"x"),
            masked(OpCode::Data(Data::Text), true, b"x"),
        ]
        .concat(),
    ] {
        let (messages, broken, _) = read(&bytes).await;
        assert!(messages.is_empty(), "{bytes:?}");
        assert!(matches!(broken, FrameError::Protocol), "{bytes:?}");
    }
    let (_, broken, _) = read(&masked(OpCode::Data(Data::Text), true, b"\xff")).await;
    assert_eq!(broken.close_code(), Some(CloseCode::Invalid));
}

#[tokio::test]
async fn bytes_of_any_kind_do_no_harm() {
    // Memory depends on the received bytes only.
    let mut huge = masked(OpCode::Data(Data::Text), true, &[b'x'; 200]);
    huge[1] = 0x80 | 127;
    huge.splice(2..4, (u64::MAX / 2).to_be_bytes());
    let (messages, _, _) = read(&huge).await;
    assert!(messages.is_empty());
    let mut noise = PseudoRandom::new(0);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..64)
            .map(|_| noise.next_number().to_le_bytes()[0])
            .collect();
        read(&bytes).await;
    }
}

#[tokio::test]
async fn long_message_is_fragmented_with_pongs_in_between() {
    let outbox = Outbox::new(Limits::ONE_OF_MANY);
    let text = "y".repeat(3 * PIECE_BYTES + 1);
    outbox.push(format!("{text}\n").into_bytes());
    outbox.push(b"short\n".to_vec());
    outbox.close();
    let control = ControlQueue::default();
    // A small pipe: the pong is requested while the message is being written.
    let (mut client, server) = tokio::io::duplex(PIECE_BYTES);
    let writing = write(server, &outbox, &control);
    let reading = async {
        let mut bytes = vec![0; PIECE_BYTES / 2];
        client.read_exact(&mut bytes).await.unwrap();
        control.pong(b"here".to_vec());
        client.read_to_end(&mut bytes).await.unwrap();
        bytes
    };
    let (written, bytes) = tokio::join!(writing, reading);
    written.unwrap();
    let mut expected = Vec::new();
    let piece = |number: usize| &text.as_bytes()[number * PIECE_BYTES..(number + 1) * PIECE_BYTES];
    frame::write(&mut expected, OpCode::Data(Data::Text), false, piece(0)).unwrap();
    frame::write(&mut expected, OpCode::Data(Data::Continue), false, piece(1)).unwrap();
    frame::write(&mut expected, OpCode::Control(Control::Pong), true, b"here").unwrap();
    frame::write(&mut expected, OpCode::Data(Data::Continue), false, piece(2)).unwrap();
    frame::write(&mut expected, OpCode::Data(Data::Continue), true, b"y").unwrap();
    frame::write(&mut expected, OpCode::Data(Data::Text), true, b"short").unwrap();
    frame::write(
        &mut expected,
        OpCode::Control(Control::Close),
        true,
        &1001_u16.to_be_bytes(),
    )
    .unwrap();
    assert!(bytes == expected);
}

#[tokio::test(start_paused = true)]
async fn silent_connection_is_closed_and_pongs_keep_it() {
    let control = ControlQueue::default();
    let begun = tokio::time::Instant::now();
    control.until_silent().await;
    assert_eq!(begun.elapsed(), 2 * PING_AFTER);
    assert_eq!(
        control.take(),
        Some((OpCode::Control(Control::Ping), Vec::new()))
    );
    let client = async {
        for _ in 0..4 {
            assert_eq!(control.next().await.0, OpCode::Control(Control::Ping));
            let pong = masked(OpCode::Control(Control::Pong), true, b"");
            let mut reader = WebSocketReader::new(&pong[..], LIMIT);
            assert!(reader.next(&control).await.is_err());
        }
    };
    let begun = tokio::time::Instant::now();
    futures::future::join(control.until_silent(), client).await;
    assert_eq!(begun.elapsed(), 10 * PING_AFTER);
}
