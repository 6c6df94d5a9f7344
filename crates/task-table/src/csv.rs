//! Reading and writing CSV.

use csv_core::{ReadRecordResult, Reader};

/// Hands out the records of a text, until the text ends or one is refused. Empty lines are no records.
///
/// # Errors
/// A record is refused.
pub fn each_record<E>(
    text: &str,
    mut take: impl FnMut(Vec<String>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new();
    let mut input = text.as_bytes();
    let (mut values, mut ends) = (vec![0; 1024], vec![0; 64]);
    let (mut length, mut count) = (0, 0);
    loop {
        let (result, read, written, ended) =
            reader.read_record(input, &mut values[length..], &mut ends[count..]);
        input = &input[read..];
        length += written;
        count += ended;
        match result {
            // The end of the text is said by the next call, which gets none.
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull => values.resize(values.len() * 2, 0),
            ReadRecordResult::OutputEndsFull => ends.resize(ends.len() * 2, 0),
            ReadRecordResult::Record => {
                take(fields(&values, &ends[..count]))?;
                (length, count) = (0, 0);
            }
            ReadRecordResult::End => return Ok(()),
        }
    }
}

fn fields(values: &[u8], ends: &[usize]) -> Vec<String> {
    let mut start = 0;
    let field = |end: &usize| {
        let value = String::from_utf8_lossy(&values[start..*end]).into_owned();
        start = *end;
        value
    };
    ends.iter().map(field).collect()
}

/// Adds a record.
pub fn push_record<'a>(text: &mut String, fields: impl IntoIterator<Item = &'a str>) {
    for (index, field) in fields.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if field.contains([',', '"', '\r', '\n']) {
            text.push('"');
            text.push_str(&field.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(field);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_records_round_trip() {
        let long = "é,".repeat(3000);
        let many = vec!["x"; 200];
        let records: [&[&str]; 5] = [
            &["a b", " c ", ""],
            &["1, 2", "q\"z", "two\r\nlines"],
            &["", ""],
            &[&long],
            &many,
        ];
        let mut text = String::new();
        for record in records {
            push_record(&mut text, record.iter().copied());
        }
        let mut read = Vec::new();
        let taken = each_record(&text, |record| {
            read.push(record);
            Ok::<_, ()>(())
        });
        assert_eq!(taken, Ok(()));
        assert_eq!(read, records);
        assert!(text.starts_with("a b, c ,\n\"1, 2\",\"q\"\"z\",\"two\r\nlines\"\n,\n"));
    }
}
