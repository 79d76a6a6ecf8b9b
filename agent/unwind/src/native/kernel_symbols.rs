//! The names of the kernel's functions, from `/proc/kallsyms`.
//!
//! It runs in normal context. The list is read at the first address of the kernel, because it takes
//! the agent's thread some tens of milliseconds. It must not guess: an address far from the
//! beginning of any function has no name.

extern crate std;

use std::borrow::ToOwned;
use std::format;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::string::String;
use std::vec::Vec;

/// The kernel's functions.
const KALLSYMS: &str = "/proc/kallsyms";
/// The name of the kernel itself, as of a library.
pub const KERNEL: &str = "kernel";
/// No function is longer.
const MAX_FUNCTION_BYTES: usize = 1 << 16;

/// The functions of the kernel and its modules, by address.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// Sorted by their beginning.
    functions: Vec<Function>,
    /// The names of all functions, one after the other.
    names: String,
    /// The names of all modules. The first one is the kernel itself.
    modules: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    begin: usize,
    /// Where the name begins in `names`, and how long it is.
    name: (u32, u16),
    module: u16,
}

/// The function of the kernel at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSymbol<'s> {
    /// The kernel, or one of its modules.
    pub module: &'s str,
    pub function: &'s str,
}

impl KernelSymbol<'_> {
    /// The name for users: `kernel!vfs_read`, or `ext4!ext4_file_read_iter` for a module.
    pub fn full_name(&self) -> String {
        format!("{}!{}", self.module, self.function)
    }
}

impl KernelSymbols {
    /// Reads the functions of the running kernel. Without the permission to see addresses it
    /// finds no function.
    pub fn read() -> Self {
        File::open(KALLSYMS).map(|file| Self::parse(BufReader::new(file))).unwrap_or_default()
    }

    /// True if no function is known.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Parses lines such as `ffffffff81000000 t ext4_read [ext4]`.
    fn parse(lines: impl BufRead) -> Self {
        let mut symbols = Self { modules: [KERNEL.to_owned()].into(), ..Self::default() };
        for line in lines.split(b'\n').map_while(Result::ok) {
            let Ok(line) = str::from_utf8(&line) else { continue };
            let mut words = line.split_ascii_whitespace();
            let (Some(begin), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let begin = usize::from_str_radix(begin, 16).unwrap_or(0);
            // Where addresses are hidden, all are 0.
            if begin != 0 && matches!(kind, "t" | "T" | "w" | "W") {
                let module = words.next().map_or(KERNEL, |name| name.trim_matches(['[', ']']));
                symbols.add(begin, name, module);
            }
        }
        // Of several names of one function the first one is kept.
        symbols.functions.sort_by_key(|function| function.begin);
        symbols.functions.dedup_by_key(|function| function.begin);
        symbols.functions.shrink_to_fit();
        symbols
    }

    fn add(&mut self, begin: usize, name: &str, module: &str) {
        // Functions of a module follow each other.
        let known = self.modules.iter().rposition(|known| known == module);
        let module = known.unwrap_or_else(|| {
            self.modules.push(module.to_owned());
            self.modules.len() - 1
        });
        let (Ok(at), Ok(length), Ok(module)) =
            (u32::try_from(self.names.len()), u16::try_from(name.len()), u16::try_from(module))
        else {
            return;
        };
        self.names.push_str(name);
        self.functions.push(Function { begin, name: (at, length), module });
    }

    /// Finds the function at an address.
    pub fn find(&self, address: usize) -> Option<KernelSymbol<'_>> {
        let after = self.functions.partition_point(|function| function.begin <= address);
        let Function { begin, name: (at, length), module } = *self.functions.get(after.checked_sub(1)?)?;
        (address - begin < MAX_FUNCTION_BYTES).then_some(())?;
        let function = self.names.get(at as usize..)?.get(..usize::from(length))?;
        Some(KernelSymbol { module: self.modules.get(usize::from(module))?, function })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "ffffffff81000000 T _stext
ffffffff81000010 t do_syscall_64
ffffffff81000010 T alias_of_it
ffffffff81000020 D jiffies
ffffffffc0000000 t ext4_read\t[ext4]
ffffffffc0000100 t nf_hook\t[nf]
no line
";

    #[test]
    fn a_function_is_found_in_the_kernel_and_in_a_module() {
        let symbols = KernelSymbols::parse(LIST.as_bytes());
        let name = |address| symbols.find(address).map(|symbol| symbol.full_name());
        assert_eq!(name(0xffff_ffff_8100_0010).as_deref(), Some("kernel!do_syscall_64"));
        // Data is no function.
        assert_eq!(name(0xffff_ffff_8100_0024).as_deref(), Some("kernel!do_syscall_64"));
        assert_eq!(name(0xffff_ffff_c000_00ff).as_deref(), Some("ext4!ext4_read"));
        assert_eq!(name(0xffff_ffff_c000_0100).as_deref(), Some("nf!nf_hook"));
    }

    #[test]
    fn an_address_outside_of_all_functions_has_no_name() {
        let symbols = KernelSymbols::parse(LIST.as_bytes());
        for address in [0, 0xffff_ffff_80ff_ffff, 0xffff_ffff_8101_0010, usize::MAX] {
            assert_eq!(symbols.find(address), None, "{address:#x}");
        }
    }

    #[test]
    fn hidden_addresses_give_no_names() {
        let hidden = LIST.lines().map(|line| format!("{:016x}{}\n", 0, line.get(16..).unwrap_or_default()));
        let symbols = KernelSymbols::parse(hidden.collect::<String>().as_bytes());
        assert!(symbols.is_empty() && symbols.find(usize::MAX).is_none());
    }
}
