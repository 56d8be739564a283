// The copy engine's plain copies, of neighbouring bytes: 16-byte aligned, a multiple of 16; after the PTX ISA.
// Put before a kernel's source, after warpgroup.hpp.

static void ptx_fence_mbarrier_init_release_cluster() {}

static void ptx_cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(unsigned to, const void* from, int bytes,
                                                                               unsigned barrier) {
    if (to % 16 || (std::size_t)from % 16 || bytes % 16 || bytes < 1) std::abort();
    const auto copy = [=] {
        std::memcpy(at_shared(to), from, bytes);
        Phase& phase = phase_at(barrier);
        phase.bytes -= bytes;
        maybe_end(phase);
    };
    if (late) on_their_way[barrier].push_back(copy), ++phases_ended;  // whoever waits for it looks again
    else copy();
}
static void ptx_cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes_L2_cache_hint(unsigned to, const void* from,
                                                                                             int bytes, unsigned barrier, u64) {
    ptx_cp_async_bulk_shared_cluster_global_mbarrier_complete_tx_bytes(to, from, bytes, barrier);
}
