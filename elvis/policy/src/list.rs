//! A linked list of small numbers with removal of any member in constant time.

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
    listed: bool,
}

/// Members are indices; each is in the list at most once.
#[derive(Debug, Clone)]
pub struct List {
    links: Vec<Link>,
    head: u32,
    tail: u32,
    len: u32,
}

impl List {
    pub fn new() -> Self {
        Self {
            links: Vec::new(),
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn contains(&self, member: u32) -> bool {
        self.links
            .get(member as usize)
            .is_some_and(|link| link.listed)
    }

    pub fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The member after this one. The first member if this one is the last or not in the list.
    pub fn after(&self, member: u32) -> Option<u32> {
        match self.links.get(member as usize) {
            Some(link) if link.listed && link.after != NONE => Some(link.after),
            _ => self.front(),
        }
    }

    /// Makes room for a member, so that adding it allocates nothing.
    pub fn make_room(&mut self, member: u32) {
        let index = member as usize;
        if self.links.len() <= index {
            let free = Link {
                before: NONE,
                after: NONE,
                listed: false,
            };
            self.links.resize(index + 1, free);
        }
    }

    /// Adds a member at the end, or moves it there.
    pub fn put_last(&mut self, member: u32) {
        if self.tail == member {
            return;
        }
        if self.head == member {
            return self.put_first_last(member);
        }
        self.remove(member);
        self.make_room(member);
        self.links[member as usize] = Link {
            before: self.tail,
            after: NONE,
            listed: true,
        };
        match self.tail {
            NONE => self.head = member,
            tail => self.links[tail as usize].after = member,
        }
        self.tail = member;
        self.len += 1;
    }

    /// Moves the first of several members to the end, as each visit does.
    fn put_first_last(&mut self, member: u32) {
        let (next, last) = (self.links[member as usize].after, self.tail);
        self.links[next as usize].before = NONE;
        self.links[last as usize].after = member;
        let link = &mut self.links[member as usize];
        (link.before, link.after) = (last, NONE);
        (self.head, self.tail) = (next, member);
    }

    /// Removes a member; does nothing if it is not in the list.
    pub fn remove(&mut self, member: u32) {
        if !self.contains(member) {
            return;
        }
        let Link { before, after, .. } = self.links[member as usize];
        match before {
            NONE => self.head = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.tail = before,
            after => self.links[after as usize].before = before,
        }
        self.links[member as usize].listed = false;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn members(list: &List) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = list.front();
        while let Some(member) = at {
            found.push(member);
            at = list
                .after(member)
                .filter(|&next| Some(next) != list.front());
        }
        found
    }

    proptest! {
        #[test]
        fn does_what_a_plain_vector_does(steps in prop::collection::vec((any::<bool>(), 0u32..12), 0..80)) {
            let mut list = List::new();
            let mut plain: Vec<u32> = Vec::new();
            for (add, member) in steps {
                plain.retain(|&other| other != member);
                if add {
                    plain.push(member);
                    list.put_last(member);
                } else {
                    list.remove(member);
                }
                prop_assert_eq!(members(&list), plain.clone());
                prop_assert_eq!(list.len() as usize, plain.len());
            }
        }
    }
}
