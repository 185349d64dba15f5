/* Made by gpu-worker/known_answer.py; do not edit. The five sums of the built-in circuit,
 * affine, Montgomery form, and its dictionary {1, -1, 5} R^2 mod r. */
/* clang-format off */
#pragma once

#include <stdint.h>

static const uint64_t known_answer_dictionary_bn254[3][4] = {
    {0x1bb8e645ae216da7u, 0x53fe3ab1e35c59e3u,
     0x8c49833d53bb8085u, 0x0216d0b17f4e44a5u},
    {0x28290f4e41de925au, 0xd435ad96965d16aeu,
     0x2c06c2792dc5d7d7u, 0x2e4d7dc161e35b84u},
    {0x8a9c7f5c66a72443u, 0xa3f7257970cdc16fu,
     0xbd6f9032a2a9829au, 0x0a7213777c87573bu},
};

static const uint64_t known_answer_sums_bn254[48] = {
    /* A */
    0xc2cd4226c077d19eu, 0x10e9ecb5b5642f2bu, 0x061b5df4dba95a58u, 0x082511f5b0982ceau,
    0xae68dde3476f957cu, 0x1ec92c989890bab7u, 0x7e5dba865f04df52u, 0x2cf424e5db532bc7u,
    /* B1 */
    0xb826f91b2ce3c892u, 0xbd681d90d6028058u, 0xdadabfbe8fcf7217u, 0x1c8f0cae3771e80cu,
    0xf12bb94cf88c19e3u, 0xa6e3086408ed4f98u, 0x144d79b267f0dc31u, 0x20b9d4eca2032d80u,
    /* B2 */
    0x211667e47306c99cu, 0x6c75ab08395c1ac0u, 0xcd9c9e5e3a41f6b5u, 0x1bc82c5c744a24f5u,
    0x494f81dc8e1f269bu, 0x87cb9468f25dad40u, 0x81902885da618a1du, 0x0fee44ec743ac043u,
    0x9606338623ffc416u, 0x2ca2111279ac57ecu, 0x8c647365b47b51bau, 0x0b2f87d0a9dd5674u,
    0x4024c049241c4997u, 0x869e94b353496c14u, 0xb1b41ef6cda51eeau, 0x1ffd6dc232510170u,
    /* L */
    0xbf3a792ace143cfbu, 0xaee9405adf414ae1u, 0x878d0f378fa7a595u, 0x1ec516ee60f94b37u,
    0x4a52776468585bd3u, 0x8847fb1348535972u, 0x3db442ea5b94d049u, 0x142f49fc818081beu,
    /* H */
    0x7cdc39bf63fca356u, 0xd0310ed3ddc553b0u, 0xbb182176237dacb7u, 0x26b97603d4284e01u,
    0x478a79aa45fa1162u, 0x48715824ef657d51u, 0xcb54b91390d78ff6u, 0x221f9dda504bb49bu,
};

static const uint64_t known_answer_dictionary_bls12_381[3][4] = {
    {0xc999e990f3f29c6du, 0x2b6cedcb87925c23u,
     0x05d314967254398fu, 0x0748d9d99f59ff11u},
    {0x3666166e0c0d6394u, 0x2850b637786bffdbu,
     0x2d66c371974d9e76u, 0x6ca4cd798a437e37u},
    {0xf0018fd4c3bd0e21u, 0xd920a4f9a5dbccb2u,
     0x1d1f66f03ba51fcbu, 0x246c41401cc1fb55u},
};

static const uint64_t known_answer_sums_bls12_381[72] = {
    /* A */
    0x4688daf67e2f2c3bu, 0xed5779f18e42ce1cu, 0xc2cc31cc48b3d087u, 0x364595d482c56159u,
    0xcc975b3bda1eb0d1u, 0x079bb80c15b019edu, 0x3a0790506fba70d7u, 0xb45d37e26270e250u,
    0x5315cb13dc6d54b2u, 0xfda8a5e91ec02e90u, 0x516c94ef7811b499u, 0x069e28bfbd6986a1u,
    /* B1 */
    0xa332073af25f5550u, 0x628bf478e39caf34u, 0x51cb137aca6b803au, 0xbef9beaf99bda691u,
    0xe79a95101ae6b2a4u, 0x135597643bbf26e7u, 0xa8f27c7b93d8020eu, 0x745acb440d05a941u,
    0x0c47b3fca607f1b8u, 0x6239c46c9d7dee24u, 0x1de4306a21f1e6dau, 0x0e911bc2f6797043u,
    /* B2 */
    0x10f01b108a08aabfu, 0x5f334129688c53a2u, 0x6dac66452ee66301u, 0x28c4c20caaf0eb42u,
    0x89d16c3900fc39b5u, 0x12585c3b0fada381u, 0x4712007a672f8229u, 0x2a0cc6d036b5dfd6u,
    0x2ad8424e77129c8du, 0xd6a704524b096705u, 0x4adff932faf00794u, 0x0ece1802375de3a5u,
    0x70b54f2b9db025f1u, 0xc5877692822c564au, 0xc355689309400698u, 0xb28a45a63b694b53u,
    0x7c118659f856e1a9u, 0x106501bbf199ee33u, 0x28c273c4ba57785cu, 0x665de3d55b76b4c6u,
    0x03274b80efbdbfe1u, 0x4f85cd6049424b96u, 0x37a6590453f88556u, 0x06491a0f9f34a4e1u,
    /* L */
    0x0f40001e8dd63601u, 0xcaa862594aaa54dfu, 0x53e949ce64990e1fu, 0xbcbb169ad77139fcu,
    0x5989abe65ac27353u, 0x18beb4dd19c3b706u, 0xb79d7ce2369994c1u, 0x0514caf90f58b1e9u,
    0xc2a26ce77b1782a7u, 0xa742a0ef469467b8u, 0x4bb1e8c8c483e8e8u, 0x10aec261690f10a4u,
    /* H */
    0xcbff16dbd8391f05u, 0x4a79c38cc25cc0c1u, 0xc131f28c7293c56bu, 0xc338e8266ca0df05u,
    0xa3420253c4b7db69u, 0x03618bb80fd01c2fu, 0xbc3132da3ed63e01u, 0xc51ef3b3bce68012u,
    0x6694b8a12a749114u, 0x0b6acbfd3cfa3aedu, 0xf1a9801e9cff4e63u, 0x067119ea5fa9d664u,
};
