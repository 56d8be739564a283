// What the matrix product of warpgroups uses beside warpgroup.hpp: boxes of two dimensions, and products of two tiles in shared memory.
// Put after it; a map's third extent is 1.

static void ptx_fence_mbarrier_init_release_cluster() {}

template <class Map>
static void ptx_cp_async_bulk_tensor_2d_shared_cluster_global_mbarrier_complete_tx_bytes(unsigned to, const Map* map, int x, int y,
                                                                                         unsigned barrier) {
    ptx_cp_async_bulk_tensor_3d_shared_cluster_global_tile_mbarrier_complete_tx_bytes(to, map, x, y, 0, barrier);
}
template <class Map>
static void ptx_cp_async_bulk_tensor_2d_global_shared_cta_bulk_group(const Map* map, int x, int y, unsigned from) {
    ptx_cp_async_bulk_tensor_3d_global_shared_cta_tile_bulk_group(map, x, y, 0, from);
}

// D (64 x 2 N) = A (rows of neighbours in k) times B (rows of neighbours in columns), and the D before where there is `more`.
template <int N>
static void multiply(float (&d)[N], u64 left, u64 right, int more) {
    const Matrix a(left), b(right);
    const int lane = running->lane, line = running->warp % 4 * 16 + lane / 4;
    float* to = d;
    multiply_later([=] {
        for (int j = 0; j < N; ++j) {
            const int row = line + j % 4 / 2 * 8, column = j / 4 * 8 + lane % 4 * 2 + j % 2;
            double sum = more ? to[j] : 0.0;
            for (int k = 0; k < 16; ++k) sum += (double)a.along(row, k) * b.across(column, k);
            to[j] = (float)sum;
        }
    });
}
