// What only sm_90a has, on a CPU: products of a warpgroup (wgmma), the copy engine (TMA), mbarriers, named barriers.
// What each does is after the PTX ISA. Put before a kernel's source, after lanes.hpp. Asynchronous work is done at once, or, where
// copies arrive late, no sooner than the wait that asks for it.

#include <functional>
#include <map>
#include <memory>

#define __grid_constant__
typedef unsigned long long u64;

static int __shfl_sync(unsigned, int value, int) { return value; }  // of a value that all lanes have
static void ptx_setmaxnreg_dec_sync_aligned_u32(int) {}
static void ptx_setmaxnreg_inc_sync_aligned_u32(int) {}

// Named barriers: whoever arrives counts, whoever syncs waits, too.
struct Named {
    unsigned come = 0, turn = 0;
};
static Named named[16];
static void ptx_bar_arrive(int id, unsigned threads) {
    if (++named[id].come == threads) named[id].come = 0, ++named[id].turn;
}
static void ptx_bar_sync(int id, unsigned threads) {
    const unsigned seen = named[id].turn;
    ptx_bar_arrive(id, threads);
    if (named[id].turn == seen) wait(named[id].turn, seen);
}

// mbarrier: a phase ends when all have arrived and all bytes that were expected have come.
struct Phase {
    short expected, pending;
    int bytes : 31;
    unsigned parity : 1;
};
static unsigned phases_ended;
static std::map<unsigned, std::vector<std::function<void()>>> on_their_way;  // copies by barrier

static Phase& phase_at(unsigned barrier) { return *(Phase*)at_shared(barrier); }
static void maybe_end(Phase& phase) {
    if (phase.pending < 0) std::abort();  // more arrivals than the barrier was told of
    if (phase.pending == 0 && phase.bytes == 0) phase.pending = phase.expected, phase.parity ^= 1, ++phases_ended;
}
static void ptx_mbarrier_init_shared_cta_b64(unsigned barrier, int arrivals) {
    if (barrier % 8) std::abort();
    phase_at(barrier) = {(short)arrivals, (short)arrivals, 0, 0};
    for (Named& one : named) one = Named();  // a new block
    on_their_way.erase(barrier);
}
static void ptx_mbarrier_arrive_expect_tx_shared_cta_b64(unsigned barrier, int bytes) {
    Phase& phase = phase_at(barrier);
    phase.bytes += bytes, --phase.pending;
    maybe_end(phase);
}
static void ptx_mbarrier_arrive_shared_cta_b64(unsigned barrier) {
    --phase_at(barrier).pending;
    maybe_end(phase_at(barrier));
}
static void await_phase(unsigned barrier, unsigned parity) {
    while (phase_at(barrier).parity == parity) {
        std::vector<std::function<void()>> copies;
        copies.swap(on_their_way[barrier]);
        for (auto& copy : copies) copy();
        if (copies.empty()) {
            const unsigned seen = phases_ended;
            wait(phases_ended, seen);
        }
    }
}

// A map for tests: where the array is, its extents and the box's, innermost first; bf16, 128-byte swizzle, zeros outside.
struct HostMap {
    u64 address;
    int size[3], box[3];
};
// 16-byte pieces of a row of 128 bytes change places by the row's number, counted from multiples of 1024.
static unsigned swizzled(unsigned address) { return address ^ (address >> 7 & 7) << 4; }

template <class Map>
static void ptx_cp_async_bulk_tensor_3d_shared_cluster_global_tile_mbarrier_complete_tx_bytes(unsigned to, const Map* map, int x,
                                                                                              int y, int z, unsigned barrier) {
    const HostMap host = *(const HostMap*)map;
    if (to % 1024 || host.box[0] != 64) std::abort();
    const auto copy = [=] {
        const unsigned short* array = (const unsigned short*)host.address;
        for (int k = 0; k < host.box[2]; ++k)
            for (int j = 0; j < host.box[1]; ++j)
                for (int i = 0; i < host.box[0]; ++i) {
                    const bool inside = x + i < host.size[0] && y + j < host.size[1] && z + k < host.size[2];
                    const unsigned short value =
                        inside ? array[((u64)(z + k) * host.size[1] + (y + j)) * host.size[0] + (x + i)] : 0;
                    std::memcpy(at_shared(swizzled(to + ((k * host.box[1] + j) * host.box[0] + i) * 2)), &value, 2);
                }
        Phase& phase = phase_at(barrier);
        phase.bytes -= host.box[0] * host.box[1] * host.box[2] * 2;
        maybe_end(phase);
    };
    if (late) on_their_way[barrier].push_back(copy), ++phases_ended;  // whoever waits for it looks again
    else copy();
}

// stmatrix: lane l lays down two neighbours of row l / 4 of each of four matrices, whose rows are at the addresses of eight lanes.
static void ptx_stmatrix_sync_aligned_m8n8_x4_shared_b16(unsigned to, unsigned r0, unsigned r1, unsigned r2, unsigned r3) {
    const unsigned operands[5] = {to, r0, r1, r2, r3};
    std::memcpy(exchanges[running->warp].in[running->lane], operands, sizeof operands);
    with_warp([](Exchange& x) {
        for (int j = 0; j < 4; ++j)
            for (int l = 0; l < 32; ++l) std::memcpy(at_shared(x.in[8 * j + l / 4][0] + l % 4 * 4), &x.in[l][1 + j], 4);
    });
}

// Boxes that leave: read at once, or no sooner than the thread that sent them waits for that; what lies outside is not written.
struct Leaving {
    std::vector<std::function<void()>> open;
    std::vector<std::vector<std::function<void()>>> groups;
};
static std::map<Fibre*, Leaving> leaving;

template <class Map>
static void ptx_cp_async_bulk_tensor_3d_global_shared_cta_tile_bulk_group(const Map* map, int x, int y, int z, unsigned from) {
    const HostMap host = *(const HostMap*)map;
    if (from % 1024 || host.box[0] != 64) std::abort();
    const auto copy = [=] {
        unsigned short* array = (unsigned short*)host.address;
        for (int k = 0; k < host.box[2]; ++k)
            for (int j = 0; j < host.box[1]; ++j)
                for (int i = 0; i < host.box[0]; ++i)
                    if (x + i < host.size[0] && y + j < host.size[1] && z + k < host.size[2])
                        std::memcpy(&array[((u64)(z + k) * host.size[1] + (y + j)) * host.size[0] + (x + i)],
                                    at_shared(swizzled(from + ((k * host.box[1] + j) * host.box[0] + i) * 2)), 2);
    };
    if (late) leaving[running].open.push_back(copy);
    else copy();
}
static void ptx_cp_async_bulk_commit_group() {
    Leaving& mine = leaving[running];
    mine.groups.push_back(mine.open);
    mine.open.clear();
}
static void ptx_cp_async_bulk_wait_group_read(int newest) {
    auto& groups = leaving[running].groups;
    while ((int)groups.size() > newest) {
        for (auto& copy : groups.front()) copy();
        groups.erase(groups.begin());
    }
}
static void ptx_cp_async_bulk_wait_group(int newest) { ptx_cp_async_bulk_wait_group_read(newest); }
static void ptx_fence_proxy_async_shared_cta() {}

// wgmma: matrix descriptors hold address, leading and stride byte offsets, each over 16, and the swizzle (1: 128 bytes).
struct Matrix {
    unsigned address, leading, stride;
    explicit Matrix(u64 d) : address((d & 0x3fff) << 4), leading((d >> 16 & 0x3fff) << 4), stride((d >> 32 & 0x3fff) << 4) {
        if (d >> 62 != 1) std::abort();
    }
    float at(unsigned address) const {
        unsigned short bits;
        std::memcpy(&bits, at_shared(swizzled(address)), 2);
        return from_bf16(bits);
    }
    // Rows of 16 values that are neighbours: eight rows of 128 bytes, then the next eight.
    float along(int row, int k) const { return at(address + row / 8 * stride + row % 8 * 128 + k * 2); }
    // Columns are neighbours: 64 of them in 128 bytes, eight k below each other, then the next eight.
    float across(int column, int k) const {
        return at(address + column / 64 * leading + k / 8 * stride + k % 8 * 128 + column % 64 * 2);
    }
};

struct Products {
    std::vector<std::function<void()>> open;
    std::vector<std::vector<std::function<void()>>> groups;
};
static std::map<Fibre*, Products> products;

static void ptx_wgmma_fence_sync_aligned() {}
static void ptx_wgmma_commit_group_sync_aligned() {
    Products& mine = products[running];
    mine.groups.push_back(mine.open);
    mine.open.clear();
}
static void ptx_wgmma_wait_group_sync_aligned(int newest) {
    auto& groups = products[running].groups;
    while ((int)groups.size() > newest) {
        for (auto& product : groups.front()) product();
        groups.erase(groups.begin());
    }
}
static void multiply_later(std::function<void()> product) {
    if (late) products[running].open.push_back(product);
    else product();
}

// Register j of an accumulator: row lane / 4 of the warp's 16, 8 below for j % 4 > 1, column 8 (j / 4) + 2 (lane % 4) + j % 2.
template <int N>
static void multiply_scores(float (&s)[N], u64 left, u64 right, bool add) {
    const Matrix a(left), b(right);
    const int lane = running->lane, line = running->warp % 4 * 16 + lane / 4;
    float* to = s;
    multiply_later([=] {
        for (int j = 0; j < N; ++j) {
            const int row = line + j % 4 / 2 * 8, column = j / 4 * 8 + lane % 4 * 2 + j % 2;
            double sum = add ? to[j] : 0.0;
            for (int k = 0; k < 16; ++k) sum += (double)a.along(row, k) * b.along(column, k);
            to[j] = (float)sum;
        }
    });
}

struct Fragment {
    unsigned word[32][4];
};
template <int N>
static void multiply_values(float (&out)[N], const unsigned* p, u64 right) {
    static std::map<unsigned, std::shared_ptr<Fragment>> latest;
    const int lane = running->lane;
    const unsigned warp = running->warp;
    std::memcpy(exchanges[warp].in[lane], p, 16);
    with_warp([=](Exchange& x) {
        latest[warp] = std::make_shared<Fragment>();
        for (int l = 0; l < 32; ++l) std::memcpy(latest[warp]->word[l], x.in[l], 16);
    });
    const std::shared_ptr<Fragment> a = latest[warp];
    const Matrix b(right);
    float* to = out;
    multiply_later([=] {
        for (int j = 0; j < N; ++j) {
            const int half = j % 4 / 2, column = j / 4 * 8 + lane % 4 * 2 + j % 2;
            double sum = to[j];
            for (int k = 0; k < 16; ++k) {
                const unsigned word = a->word[lane / 4 * 4 + k % 8 / 2][k / 8 * 2 + half];
                sum += (double)from_bf16(word >> k % 2 * 16 & 0xffff) * b.across(column, k);
            }
            to[j] = (float)sum;
        }
    });
}
template <class T, int N>
static void hold(T (&)[N]) {}
