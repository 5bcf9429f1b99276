// The function is replaced in one place alone: in the table through which the object
// that holds Python's code calls other libraries. Nobody else's calls are touched.
#include "python/thread_exit.h"

#include <cstdint>
#include <cstring>

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "python/bind.h"

namespace tandem::python {

namespace {

struct Search {
  uintptr_t within;  // an address of the object's code
  void (*instead)(void*);
  bool replaced = false;
};

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * calls = nullptr;
  size_t calls_bytes = 0;
  const ElfW(Rela) * data = nullptr;
  size_t data_bytes = 0;
};

bool holds(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = object.dlpi_phdr[i];
    const uintptr_t start = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= start && address < start + part.p_memsz) {
      return true;
    }
  }
  return false;
}

Tables tables_of(const dl_phdr_info& object) {
  Tables found;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    if (object.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr +
                                                           object.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      // Some loaders leave addresses as the file has them.
      const uintptr_t value = entry->d_un.d_ptr;
      const uintptr_t at = value < object.dlpi_addr ? value + object.dlpi_addr : value;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          found.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
          break;
        case DT_STRTAB:
          found.names = reinterpret_cast<const char*>(at);
          break;
        case DT_JMPREL:
          found.calls = reinterpret_cast<const ElfW(Rela)*>(at);
          break;
        case DT_PLTRELSZ:
          found.calls_bytes = value;
          break;
        case DT_RELA:
          found.data = reinterpret_cast<const ElfW(Rela)*>(at);
          break;
        case DT_RELASZ:
          found.data_bytes = value;
          break;
        default:
          break;
      }
    }
  }
  return found;
}

bool is_read_only(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) & part = object.dlpi_phdr[i];
    const uintptr_t start = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_RELRO && address >= start &&
        address < start + part.p_memsz) {
      return true;
    }
  }
  return false;
}

bool write(const dl_phdr_info& object, uintptr_t slot, void (*function)(void*)) {
  const uintptr_t size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(slot & ~(size - 1));
  if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(reinterpret_cast<uintptr_t*>(slot),
                   reinterpret_cast<uintptr_t>(function), __ATOMIC_RELEASE);
  if (is_read_only(object, slot)) mprotect(page, size, PROT_READ);
  return true;
}

void replace(const dl_phdr_info& object, const Tables& t, const ElfW(Rela) * entries,
             size_t bytes, Search& search) {
  if (!entries || !t.symbols || !t.names) return;
  for (size_t i = 0; i < bytes / sizeof *entries; ++i) {
    const size_t symbol = ELF64_R_SYM(entries[i].r_info);
    if (symbol == 0 || entries[i].r_addend != 0) continue;
    if (std::strcmp(t.names + t.symbols[symbol].st_name, "pthread_exit") != 0) continue;
    search.replaced |=
        write(object, object.dlpi_addr + entries[i].r_offset, search.instead);
  }
}

int look_at(dl_phdr_info* object, size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (!holds(*object, search.within)) return 0;
  const Tables t = tables_of(*object);
  replace(*object, t, t.calls, t.calls_bytes, search);
  replace(*object, t, t.data, t.data_bytes, search);
  return 1;
}

}  // namespace

bool replace_thread_exit(void (*instead)(void*)) {
#if PY_VERSION_HEX >= 0x030e0000
  return true;
#endif
  Search search{reinterpret_cast<uintptr_t>(&PyThread_exit_thread), instead};
  dl_iterate_phdr(look_at, &search);
  return search.replaced;
}

}  // namespace tandem::python
