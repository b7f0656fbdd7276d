package profile

import "testing"

// Names of kernels as their sources define them, or as profiles of engines show them. What is
// wanted is what the kernel does there, by its code.
var names = []struct {
	source, class string
	kernels       []string
}{
	{"FlashMLA", "attention", []string{"flash_fwd_splitkv_mla_kernel<cutlass::bfloat16_t>", "flash_fwd_mla_combine_kernel",
		"void smxx::decode::flash_fwd_mla_combine_kernel<cutlass::bfloat16_t, 512, 8, 32, 256>(CombineParams)"}},
	{"FlashMLA", "preparation", []string{"get_mla_metadata_kernel(GetDecodingMetadataParams)"}},
	{"FlashAttention", "attention", []string{"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>", "flash_fwd_splitkv_combine_kernel",
		"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>>",
		"void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<16>, cute::C<64>>>>"}},
	{"FlashAttention", "preparation", []string{"flash::prepare_varlen_num_blocks_kernel(int, int, int, int const*)"}},
	{"FlashInfer", "attention", []string{"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u>",
		"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1>>",
		"void flashinfer::mla::BatchMLAPagedAttentionKernel<flashinfer::mla::KernelTraits<false>>", "void flashinfer::PODWithKVCacheTensorKernel<A, B>",
		"void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u>", "void flashinfer::MergeStateKernel<8u, float>"}},
	{"FlashInfer", "element-wise", []string{"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>", "void flashinfer::activation::act_and_mul_kernel<__half, silu>",
		"void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheHeadParallelismKernel<true, 128u>"}},
	{"FlashInfer", "cache writes", []string{"void flashinfer::AppendPagedKVCacheKernel<128u, 8u>"}},
	{"FlashInfer", "sampling", []string{"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>", "void flashinfer::sampling::TopPRenormProbKernel<1024u>"}},
	{"FlashInfer", "collectives", []string{"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<P, 8>"}},
	{"FlashInfer", "products", []string{"void cutlass::DeviceGemmFp4GemmSm100<A>", "void flashinfer::gemm::tiny_k_gemm_kernel<8>"}},
	{"FlashInfer", "experts", []string{"bmm_E2m1_E2m1E2m1_Fp32_bA16_bB16_bC16_t128x8x512_s6", "bmm_Bfloat16_E2m1E2m1_Fp32"}},
	{"FlashInfer", "routing", []string{"void moe::dev::finalize::finalizeKernelVecLoad<A>", "void moe::dev::routing::routingDeepSeek::routingMainKernel<A>"}},
	{"DeepGEMM", "products", []string{"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 24576u, 1536u>", "void deep_gemm::fp8_gemm_kernel<24576u, 1536u>"}},
	{"DeepGEMM", "experts", []string{"m_grouped_gemm_fp8_fp8_bf16_nt_masked", "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, 7168u, 32u, 128u, 128u, (deep_gemm::GemmType)2>"}},
	{"DeepGEMM", "attention", []string{"void deep_gemm::sm90_fp8_paged_mqa_logits<1u, 64u>"}},
	{"DeepGEMM", "quantisation", []string{"void deep_gemm::transpose_fp32<512u, 64u, 56u>", "void deep_gemm::pack_fp32_into_ue8m0<512u>"}},
	{"DeepEP", "exchange", []string{"void deep_ep::internode_ll::dispatch<true, false, 7168>", "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>",
		"void deep_ep::legacy::internode::notify_dispatch<false, 4>", "void deep_ep::layout::get_dispatch_layout<256, 32, 8>", "hybrid_dispatch_impl", "combine_reduce_epilogue_impl"}},
	{"SGLang, Triton", "attention", []string{"_fwd_grouped_kernel_stage1", "_fwd_kernel_stage1", "_fwd_kernel_stage2", "_fwd_kernel", "_fwd_kernel_unified", "_fwd_grouped_kernel_stage1_rope",
		"merge_state_kernel", "_causal_conv1d_update_kernel", "chunk_gated_delta_rule_fwd_kernel_h_blockdim64", "fused_sigmoid_gating_delta_rule_update_kernel", "chunk_fwd_kernel_o"}},
	{"SGLang, Triton", "routing", []string{"_fwd_kernel_ep_scatter_1", "_fwd_kernel_ep_gather", "deepep_permute_triton_kernel", "deepep_post_reorder_triton_kernel", "_moe_sum_reduce_kernel",
		"post_reorder_triton_kernel_for_cutlass_moe", "_fused_append_shared_experts_kernel"}},
	{"SGLang, Triton", "preparation", []string{"create_flashinfer_kv_indices_triton", "write_req_to_token_pool_triton", "compute_position_kernel", "alloc_decode_kernel"}},
	{"SGLang, Triton", "element-wise", []string{"_rms_norm_kernel", "layer_norm_gated_fwd_kernel"}},
	{"SGLang, Triton", "products", []string{"_w8a8_block_fp8_matmul"}},
	{"SGLang", "routing", []string{"moe_fused_gate_kernel", "kimi_k2_moe_fused_gate_kernel_small_token", "void moe_align_block_size_kernel<int>", "count_and_sort_expert_tokens_kernel",
		"compute_expert_blockscale_offsets", "shuffleRowsKernel"}},
	{"SGLang", "quantisation", []string{"void per_token_group_quant_8bit_kernel<c10::BFloat16>", "_static_quant_fp8", "per_token_quant_fp8_small_batch_kernel"}},
	{"SGLang", "collectives", []string{"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>"}},
	{"SGLang", "cache writes", []string{"set_mla_kv_buffer_kernel", "void store_kvcache<1024>"}},
	{"SGLang", "element-wise", []string{"concat_mla_absorb_q_kernel", "concat_mla_k_kernel"}},
	{"triton_kernels", "experts", []string{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu", "_p_matmul_ogs_NNN_bf16xbf16xmxfp4"}},
	{"triton_kernels", "routing", []string{"_combined_routing_compute", "_combined_routing_memset", "_sum_bitmatrix_rows", "_topk_forward", "_compute_writeback_idx"}},
	{"vLLM", "attention", []string{"kernel_unified_attention_2d", "reduce_segments", "void vllm::merge_attn_states_kernel<float>", "void vllm::topKPerRowDecode<512>", "void paged_attention_ll4mi_QKV_mfma16_kernel<c>",
		"_fp8_mqa_logits_kernel"}},
	{"vLLM", "products", []string{"void marlin::Marlin<1125899907892224>", "_w8a8_triton_block_scaled_mm"}},
	{"vLLM", "experts", []string{"fused_moe_kernel", "void marlin_moe_wna16::Marlin<1125899907892224>", "moe_wna16_gemm_kernel"}},
	{"vLLM", "cache writes", []string{"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>", "void vllm::concat_and_cache_mla_kernel<__nv_bfloat16>", "void vllm::indexer_k_quant_and_cache_kernel<c>"}},
	{"vLLM", "routing", []string{"void vllm::moe::topkGatingSoftmax<8, 256>", "void vllm::moe::grouped_topk_fused_kernel<float>", "_count_expert_num_tokens"}},
	{"vLLM", "quantisation", []string{"void vllm::scaled_fp8_quant_kernel<c10::BFloat16>", "void vllm::cvt_fp16_to_fp4<__nv_bfloat16>"}},
	{"vLLM", "element-wise", []string{"void vllm::rms_norm_kernel<c10::BFloat16>", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>"}},
	{"vLLM", "sampling", []string{"_topk_topp_kernel", "rejection_greedy_sample_kernel", "_combine_sampled_and_draft_tokens_kernel"}},
	{"vLLM", "preparation", []string{"_compute_slot_mappings_kernel", "_gather_block_tables_kernel"}},
	{"TensorRT-LLM", "attention", []string{"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64MultiCtasKvVarSeqQ8"}},
	{"TensorRT-LLM", "exchange", []string{"moeA2ADispatchKernel", "moeA2ACombineKernel"}},
	{"TensorRT-LLM", "routing", []string{"void expandInputRowsKernel<A>", "void finalizeMoeRoutingKernel<A>", "computeExpertFirstTokenOffsetKernel"}},
	{"TensorRT-LLM", "quantisation", []string{"void tensorrt_llm::kernels::fp8_blockscale_gemm::scale_1x128_kernel<A>"}},
	{"cuBLAS", "products", []string{"nvjet_tst_64x24_64x16_4x1_v_bz_splitK_bias_TNT", "nvjet_hsh_128x8_64x12_2x1_v_bz_TNT", "void cublasLt::splitKreduce_kernel<32, 16, int>",
		"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x64x128"}},
	{"CUTLASS", "products", []string{"void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_64x64_64x6_tn_align8>", "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tuple",
		"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>>>"}},
	{"CUTLASS", "experts", []string{"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int>>>>"}},
	{"CUTLASS", "products, not told apart", []string{"device_kernel", "void cutlass::device_kernel<cutlass::gemm::kernel::G..."}},
	{"hipBLASLt", "products", []string{"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT128x128x64_MI16x16x1"}},
	{"NCCL", "collectives", []string{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "ncclKernel_AllReduce_RING_LL_Sum_half"}},
	{"PyTorch", "copies", []string{"Memcpy DtoD (Device -> Device)", "Memset (Device)", "[CUDA memcpy Device-to-Device]", "void at::native::(anonymous namespace)::CatArrayBatchedCopy<A>",
		"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>>"}},
	{"PyTorch", "element-wise", []string{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"}},
	{"PyTorch", "sampling", []string{"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>"}},
	{"none", "unknown", []string{"a kernel of its own"}},
}

func TestNames(t *testing.T) {
	for _, n := range names {
		for _, k := range n.kernels {
			if got := ClassOf(k); got != n.class {
				t.Errorf("%s: %s is %s, want %s", n.source, k, got, n.class)
			}
		}
	}
}
