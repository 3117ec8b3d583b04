/*
 * The part of QEMU's interface for TCG plugins that is used here, as its documentation describes it
 * (docs/devel/tcg-plugins.rst; the packages of QEMU have no header). PLUGIN_API is the version:
 *
 *	1	QEMU 7.2
 *	3	QEMU 9.1 to 10: an instruction's bytes are copied; registers and physical addresses are shown
 *	7	QEMU 11: every callback gets the user's pointer, and no plugin's number
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* Its beginning. */
struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
};

enum { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };

#if PLUGIN_API >= 7
typedef void qemu_translated(struct qemu_plugin_tb *block, void *unused);
typedef void qemu_exiting(void *unused);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id id, qemu_translated *call, void *unused);
#else
typedef void qemu_translated(qemu_plugin_id id, struct qemu_plugin_tb *block);
typedef void qemu_exiting(qemu_plugin_id id, void *unused);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id id, qemu_translated *call);
#endif
void qemu_plugin_register_atexit_cb(qemu_plugin_id id, qemu_exiting *call, void *unused);

typedef void qemu_executed(unsigned cpu, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_executed *call,
					    int flags, void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
#if PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t bytes);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif

#if PLUGIN_API >= 3
/* Data addresses. */
enum { QEMU_PLUGIN_MEM_RW = 3 };
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_hwaddr;
typedef void qemu_accessed(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_accessed *call, int flags,
				      int which, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *place);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place);

/* Registers, in arrays of GLib's, which QEMU's process has: the beginnings of GArray and GByteArray. */
struct qemu_array {
	void *data;
	unsigned count;
};
struct qemu_register {
	struct qemu_plugin_register *handle;
	const char *name, *feature;
#if PLUGIN_API >= 7
	bool is_readonly;
#endif
};
struct qemu_array *qemu_plugin_get_registers(void);
/* An int before version 6. A failure leaves the array as it was. */
#if PLUGIN_API >= 6
bool qemu_plugin_read_register(struct qemu_plugin_register *handle, struct qemu_array *bytes);
#else
int qemu_plugin_read_register(struct qemu_plugin_register *handle, struct qemu_array *bytes);
#endif
struct qemu_array *g_byte_array_new(void);
struct qemu_array *g_byte_array_set_size(struct qemu_array *bytes, unsigned count);
char *g_array_free(struct qemu_array *array, int with_data);
#endif

extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id id, const struct qemu_info *info, int count,
			       char **words);
