/* Template: prototypes of the entries of `struct curve` (curve.h says what each does).
 *
 * Set ENTRY(name) to the symbol of an entry before the include; it is undefined at the end. A file
 * that defines entries includes entries.h, so that the compiler compares the prototypes. */

size_t ENTRY(scalars_check)(const uint64_t *scalars, size_t count);
void ENTRY(scalar_mul)(uint64_t *ret, const uint64_t *a, const uint64_t *b);
enum curve_point_fault ENTRY(g1_check)(const void *point, bool subgroup);
enum curve_point_fault ENTRY(g2_check)(const void *point, bool subgroup);
void ENTRY(fp_to_plain)(uint64_t *ret_plain, const uint64_t *mont);
void ENTRY(fp_from_plain)(uint64_t *ret_mont, const uint64_t *plain);
void ENTRY(g1_mul)(const void *point, const uint64_t *scalar, void *ret_point);
void ENTRY(g2_mul)(const void *point, const uint64_t *scalar, void *ret_point);

int ENTRY(msm_g1)(struct pool *pool, const void *points, const uint64_t *scalars, size_t count,
                  void *ret_point);
int ENTRY(msm_g2)(struct pool *pool, const void *points, const uint64_t *scalars, size_t count,
                  void *ret_point);
void ENTRY(quotient)(struct pool *pool, const uint64_t *a, const uint64_t *b, unsigned log2,
                     uint64_t *ret_scalars, uint64_t *scratch);
void ENTRY(quotient_monomial)(struct pool *pool, const uint64_t *a, const uint64_t *b,
                              unsigned log2, uint64_t *ret_scalars, uint64_t *scratch);
void ENTRY(ntt)(struct pool *pool, uint64_t *values, unsigned log2, bool inverse);
void ENTRY(evaluate)(const struct matrix *matrix, const uint64_t *witness, uint64_t *ret_rows,
                     size_t begin, size_t end);
size_t ENTRY(first_broken)(const struct matrix_check *check, size_t begin, size_t end);

void ENTRY(assemble)(const struct assemble_input *input, void *ret_proof);
int ENTRY(verify)(const struct verify_key *key, const uint64_t *public_scalars, size_t public_count,
                  const void *proof);

#undef ENTRY
