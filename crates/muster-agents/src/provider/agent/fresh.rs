//! Unique names.

pub(super) fn fresh_uuid() -> String {
    let mut bytes = [0; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        unreachable!("the operating system has random numbers: {error}");
    }
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    muster_core::run::id::TurnId(u128::from_be_bytes(bytes)).to_string()
}

#[cfg(test)]
mod tests {
    use super::fresh_uuid;

    #[test]
    fn a_name_of_a_session_is_a_random_uuid() {
        let uuid = fresh_uuid();
        assert_eq!((uuid.len(), &uuid[14..15], uuid.split('-').count()), (36, "4", 5));
        assert_ne!(uuid, fresh_uuid());
    }
}
