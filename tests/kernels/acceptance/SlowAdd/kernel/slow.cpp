// Each constant keeps a compiler busy for seconds, within its limits.
template <int N>
constexpr long Spin()
{
    long sum = N;
    for (long i = 0; i < 1500; ++i) {
        for (long j = 0; j < 1500; ++j) {
            sum += i ^ j;
        }
    }
    return sum;
}

constexpr long PART_0 = Spin<0>();
constexpr long PART_1 = Spin<1>();
constexpr long PART_2 = Spin<2>();
constexpr long PART_3 = Spin<3>();
constexpr long PART_4 = Spin<4>();
constexpr long PART_5 = Spin<5>();
constexpr long PART_6 = Spin<6>();
constexpr long PART_7 = Spin<7>();
constexpr long PART_8 = Spin<8>();
constexpr long PART_9 = Spin<9>();
constexpr long PART_10 = Spin<10>();
constexpr long PART_11 = Spin<11>();
constexpr long PART_12 = Spin<12>();
constexpr long PART_13 = Spin<13>();
constexpr long PART_14 = Spin<14>();
constexpr long PART_15 = Spin<15>();
constexpr long PART_16 = Spin<16>();
constexpr long PART_17 = Spin<17>();
constexpr long PART_18 = Spin<18>();
constexpr long PART_19 = Spin<19>();
constexpr long PART_20 = Spin<20>();
constexpr long PART_21 = Spin<21>();
constexpr long PART_22 = Spin<22>();
constexpr long PART_23 = Spin<23>();
constexpr long PART_24 = Spin<24>();
constexpr long PART_25 = Spin<25>();
constexpr long PART_26 = Spin<26>();
constexpr long PART_27 = Spin<27>();
constexpr long PART_28 = Spin<28>();
constexpr long PART_29 = Spin<29>();
constexpr long PART_30 = Spin<30>();
constexpr long PART_31 = Spin<31>();
constexpr long PART_32 = Spin<32>();
constexpr long PART_33 = Spin<33>();
constexpr long PART_34 = Spin<34>();
constexpr long PART_35 = Spin<35>();
constexpr long PART_36 = Spin<36>();
constexpr long PART_37 = Spin<37>();
constexpr long PART_38 = Spin<38>();
constexpr long PART_39 = Spin<39>();

long Total()
{
    return PART_0 + PART_1 + PART_2 + PART_3 + PART_4 + PART_5 + PART_6 + PART_7 + PART_8 + PART_9 + PART_10 + PART_11 + PART_12 + PART_13 + PART_14 + PART_15 + PART_16 + PART_17 + PART_18 + PART_19 + PART_20 + PART_21 + PART_22 + PART_23 + PART_24 + PART_25 + PART_26 + PART_27 + PART_28 + PART_29 + PART_30 + PART_31 + PART_32 + PART_33 + PART_34 + PART_35 + PART_36 + PART_37 + PART_38 + PART_39;
}
