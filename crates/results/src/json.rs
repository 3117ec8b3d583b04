//! The layout of result files: objects over several lines, so that people can read them and
//! line-based diffs are short; arrays of numbers on one line, since they are long.

use serde_json::ser::Formatter;
use std::io::{self, Write};

/// The `serde_json` formatter of result files.
#[derive(Default)]
pub(crate) struct Layout {
    /// The open arrays and objects, outermost first.
    open: Vec<Open>,
}

struct Open {
    array: bool,
    /// Whether something inside starts a new line, so that the end must too.
    lines: bool,
}

impl Layout {
    fn new_line<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if let Some(open) = self.open.last_mut() {
            open.lines = true;
        }
        self.indent(out)
    }

    fn indent<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        write!(out, "\n{:1$}", "", 2 * self.open.len())
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match self.open.pop() {
            Some(Open { lines: true, .. }) => self.indent(out),
            _ => Ok(()),
        }
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open.push(Open {
            array: true,
            lines: false,
        });
        out.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b",") }
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out)?;
        out.write_all(b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.open.last().is_some_and(|open| open.array) {
            self.new_line(out)?;
        }
        self.open.push(Open {
            array: false,
            lines: false,
        });
        out.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        self.new_line(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out)?;
        out.write_all(b"}")
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;
    use serde::Serialize;
    use serde_json::{Value, json};

    fn lay_out(value: &Value) -> String {
        let mut out = Vec::new();
        value
            .serialize(&mut serde_json::Serializer::with_formatter(
                &mut out,
                Layout::default(),
            ))
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn objects_take_lines_and_numbers_share_one() {
        let value = json!({"a": [1, 2, 3], "b": [], "c": {}, "d": [{"e": null}, {"e": "x"}]});
        let text = lay_out(&value);
        assert_eq!(
            text,
            r#"{
  "a": [1,2,3],
  "b": [],
  "c": {},
  "d": [
    {
      "e": null
    },
    {
      "e": "x"
    }
  ]
}"#
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
