package web

import (
	"fmt"
	"regexp"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// language is the words of the page in one of its languages. Answers are in English in all of them:
// they are the sentences of the terminal.
type language struct {
	code  string
	words map[string]string // nil: as written
}

var (
	english = &language{code: "en"}
	chinese = &language{code: "zh", words: inChinese}
)

// languageOf is what the user has chosen, or what the browser prefers.
func languageOf(chosen, accepted string) *language {
	switch {
	case chosen == english.code:
		return english
	case chosen == chinese.code, chosen == "" && strings.HasPrefix(strings.ToLower(accepted), "zh"):
		return chinese
	}
	return english
}

// say is a word of the page; one that is in no table stays as it is.
func (l *language) say(word string) string {
	if text, ok := l.words[word]; ok {
		return text
	}
	return word
}

// tell is a sentence of the page.
func (l *language) tell(format string, args ...any) string {
	return fmt.Sprintf(l.say(format), args...)
}

// figures are what a sentence is about: times of tokens, throughput, money, and what binds.
var figures = regexp.MustCompile(`((?:TPOT|TTFT)(?: is| of)? )([0-9][0-9.,]* (?:s|ms|µs))|\b([A-Z]\w+ binds)\b|\b([0-9][0-9.,]* [0-9a-z.]* ?times as much)`)

// emphasized is a sentence for people, its figures in bold; one of a limit that does not hold is
// marked.
func emphasized(text string) template.HTML {
	out := figures.ReplaceAllString(template.HTMLEscapeString(text), "$1<b>$2$3$4</b>")
	if strings.Contains(text, "✗") {
		out = `<span class="warn">` + out + "</span>"
	}
	return template.HTML(out)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// coded is a problem, with the names of settings in it as such.
func coded(text string) template.HTML {
	return template.HTML(quoted.ReplaceAllString(template.HTMLEscapeString(text), "<code>$1</code>"))
}

// inChinese is all words of the page.
var inChinese = map[string]string{
	"Choose": "选择", "Why": "原因", "Load": "负载", "Map": "扫描", "Compare": "比较", "Catalogue": "目录", "Throughline": "Throughline",
	"Skip to the answer": "跳到答案", "Views": "视图", "Light / dark": "浅色 / 深色", "Question": "问题", "Change": "更改", "Ask": "查询",
	"All other settings": "其他所有设置", "Find a setting": "查找设置", "Pinned": "已固定", "Unpin": "取消固定", "Pin": "固定", "Shift-click pins a row": "按住 Shift 点击即可固定一行",
	"What can be had": "可达到的性能", "up": "纵轴", "across": "横轴", "best at each speed": "每个速度下的最优", "one of": "候选之一，共", "candidates": "个",
	"band of the prediction": "预测的误差带", "over the limit": "超出限制", "The frontier as a table": "前沿的表格", "Memory of a GPU": "单卡显存", "weights": "权重", "KV cache": "KV 缓存", "usable": "可用",
	"Balance": "均衡", "Launch": "启动", "Copy": "复制", "Copied": "已复制", "Ranked by": "排序依据", "Enter opens, Shift pins": "回车打开，Shift 固定",
	"deployment": "部署", "batch": "批量", "clients": "客户端", "memory": "显存", "Same answer in a terminal": "终端中的同一答案", "Take it away": "带走结果", "Link to this page": "本页链接",
	"per user": "每用户", "No deployment was found": "没有可行的部署", "What would work": "可行的更改", "Notes": "说明", "As a table": "表格", "The step": "单步", "phase": "阶段", "Operators": "算子", "Roofline": "屋顶线",
	"operator": "算子", "of step": "占比", "bound by": "受限于", "of": "占", "The chip": "芯片", "number": "参数", "value": "数值", "was": "原为", "now": "当前", "Back to the file": "恢复原值", "per +10%": "每 +10%",
	"To reach": "要达到", "change": "更改", "Seek": "求解", "Use it": "采用", "As the batch grows": "随着批量增大", "at no batch": "任何批量都不会", "part": "部分", "sum": "合计", "Parts of": "组成：",
	"Percentiles against the rate": "百分位数随请求率的变化", "Simulating several rates": "正在模拟多个请求率", "Show them": "显示", "Percentiles": "百分位数", "figure": "指标", "mean": "均值", "limit": "限制", "holds": "满足", "does not hold": "不满足",
	"Over time": "随时间变化", "Replay a trace": "回放请求记录", "Upload": "上传", "A file, at most 64 MiB; it stays in memory.": "文件不超过 64 MiB，仅保存在内存中。",
	"Give a word several values, or begin with one of these": "给一个词多个值，或从下面开始", "shows": "显示", "points": "个点", "All points": "所有点", "Cells: arrow keys choose one, Enter opens it": "单元格：方向键选择，回车打开", "A click on a cell opens it.": "点击单元格可打开。",
	"Pin two deployments to compare them, or say what was measured.": "固定两个部署以比较，或给出实测值。", "Where the GPU time of a token differs": "每个 token 的 GPU 时间差异", "All figures that differ": "所有不同的指标",
	"What was measured": "实测值", "Measure next": "接下来测量", "cause": "原因", "A result file": "结果文件", "of a load generator: what would explain it, and what to measure next": "来自负载生成器：哪些原因可以解释它，以及接下来测量什么",
	"A profile": "性能剖析", "kernels as nsys stats or PyTorch’s profiler write them, beside the step that is predicted": "nsys stats 或 PyTorch profiler 输出的内核，与预测的步骤对照",
	"A table of measured runs": "实测运行表", "the runs nearest to this question, predicted and measured": "与此问题最接近的运行：预测与实测", "Measured runs near this question": "与此问题最接近的实测运行",
	"Where the time of a step differs": "步骤时间的差异所在", "Classes of kernels, ms of a step": "各类内核，每步毫秒数", "Classes of kernels, shares of the time": "各类内核，时间占比", "Causes": "可能的原因",
	"models": "模型", "systems": "系统", "engines": "引擎", "Plan with it": "用它规划", "Paste a config.json or a system file": "粘贴 config.json 或系统文件", "Read it": "读取", "version": "版本", "source": "来源", "engine": "引擎",
	"What do you want to know?": "您想知道什么？", "Six questions, each one click from an answer. Every word of a question can be changed.": "六个问题，点击即可得到答案。问题中的每个词都可以更改。",
	"1 problem. Nothing was computed.": "有 1 个问题，未进行计算。", "%d problems. Nothing was computed.": "有 %d 个问题，未进行计算。", "of this setting": "此设置",
	" on ": "，运行在 ", " × ": " × ", ", ": "，", " → ": " → ", " tokens, TPOT ≤ ": " token，TPOT ≤ ", ", TTFT ≤ ": "，TTFT ≤ ", ", behind ": "，引擎 ", ", tp ": "，tp ", ", dp ": "，dp ", ", ep ": "，ep ",
	", prefill on ": "，prefill 在 ", ", batch ": "，批量 ", " tokens, behind ": " token，引擎 ", ", at ": "，每秒 ", " requests/s of ": " 个请求，", " tokens, TTFT ≤ ": " token，TTFT ≤ ", ", TPOT ≤ ": "，TPOT ≤ ",
	" tokens, ": " token，", " clients, behind ": " 个客户端，引擎 ", ", measured ": "，实测 ", ", over ": "，遍历 ",
	"a model": "某个模型", "some": "若干", "a system": "某个系统", "any time": "不限", "any engine": "任意引擎", "any": "任意", "as clients fill it": "由客户端决定", "by itself": "自动", "the same GPUs": "相同的 GPU", "nothing yet": "暂无",
	"requests": "请求", "limits and goal": "限制与目标", "parallelism": "并行", "number formats": "数值格式", "engine options": "引擎选项", "power and cost": "功耗与成本", "assumptions": "假设", "input and output": "输入与输出", "Stop": "停止", "Measured runs": "实测运行", "measured, joined to its prediction": "实测值，与其预测相连", "predicted": "预测",
	"of this model and these systems, from a table of runs or a result file; throughput of both by Little’s law": "来自运行表或结果文件、属于此模型与系统的运行；两者的吞吐量均按利特尔法则计算", "Part of the step": "该步中的一段", "Part of the run": "运行中的一段", "Simulating once more": "正在重新模拟",
	"Drag over the whole step, or move the frame with the arrow keys, to see a part of it above.": "在整步上拖动，或用方向键移动选框，上方即显示该段。", "Drag over the chart, or move the frame with the arrow keys, to see the requests that came then.": "在图上拖动，或用方向键移动选框，即可查看当时到达的请求。",
	"Requests": "请求", "request": "请求", "came at": "到达时刻", "prompt": "输入", "answer": "输出", "waited": "等待", "whole request": "整个请求", "Steps": "步骤", "begins": "开始", "takes": "耗时", "steps": "步骤", "sequences": "序列", "prompt tokens": "输入 token", "waiting": "等待中", "place": "所在位置", "Go on": "继续", "Computing": "正在计算", "The best so far of": "目前最优，候选总数", "Loading": "正在计算", "clear": "清除",
	"Click a word of the question to change it, or begin with": "点击问题中的词即可更改，或者从这里开始：", "one of six questions": "六个示例问题", "off": "关", "on": "开", ". ": "。", "Report": "报告",
	"between tokens": "token 间隔", "whole request, s": "整个请求, s", "time of a request": "单个请求耗时", "a request": "每个请求", "%d of %d": "%d / %d", "%s to %s": "%s 至 %s", "%s gives %s times as much per GPU.": "%s 每 GPU 的吞吐量为其 %s 倍。",
	"proving what holds": "正在验证可行方案", "simulating layouts": "正在模拟各种布局", "looking for headroom": "正在寻找余量", "simulating deployments": "正在模拟部署",
	"With the numbers of the file it is %s.": "按原文件的数值为 %s。", "%d others": "其余 %d 个", "compute": "计算", "network": "网络", "both": "共用", "aggregated": "聚合", "disaggregated": "分离", "has no answer": "没有结果",
	"Memory bandwidth": "显存带宽", "Memory": "显存", "Power limit": "功耗上限", "Network %s, bandwidth": "网络 %s 带宽", "Network %s, latency": "网络 %s 延迟", "Matrix rate, %s": "矩阵算力 %s", "Vector rate, %s": "向量算力 %s", "batch %d → %d": "批量 %d → %d",
	"lengths of prompts × answers": "输入长度 × 输出长度", "systems × lengths of prompts": "系统 × 输入长度", "GPUs × limits of TPOT": "GPU 数 × TPOT 限制", "memory bandwidth × network 0": "显存带宽 × 网络 0", "batch × context": "批量 × 上下文长度",
	"the file %s is not here: upload it again": "此处没有文件 %s，请重新上传", "%s has no run whose TTFT and TPOT are measured and can be predicted.": "%s 中没有可以预测且测有 TTFT 与 TPOT 的运行。",
	"The nearest %d runs of %s, by model, system, engine and lengths: %d of %d figures are predicted within 25%%.": "%[2]s 中按模型、系统、引擎与长度最接近的 %[1]d 次运行：%[4]d 个指标中有 %[3]d 个的预测误差在 25%% 以内。",
	"%s has no run of %s on %s with TTFT and TPOT":                                                                 "%s 中没有 %s 在 %s 上测有 TTFT 与 TPOT 的运行",
	"Requests that came from %s to %s: %d, the longest TTFT first":                                                 "%s 至 %s 之间到达的请求：%d 个，按 TTFT 从长到短排列",
	"Steps that ran while request %d was there: %d; those before its first token took %s, after it had waited %s":  "请求 %d 在场期间运行了 %d 步：首个 token 之前的步骤耗时 %s，此前等待了 %s", "server %d, rank %d": "服务器 %d，rank %d",
	"What do I launch on 32 GPUs to stay under 50 ms per token?": "在 32 张 GPU 上如何部署，才能使每个 token 不超过 50 ms？", "DeepSeek-V3 on H200 and B200, 4000 → 1000 tokens": "DeepSeek-V3，H200 与 B200，4000 → 1000 token",
	"Why is it as fast as it is, and what would a faster memory do?": "为什么是这个速度？更快的显存会带来什么？", "Llama-3.1-70B on four H200": "Llama-3.1-70B，四张 H200", "Which request rate keeps p99 TTFT under half a second?": "请求率多高时，p99 TTFT 仍低于半秒？", "Llama-3.1-8B on one H200": "Llama-3.1-8B，一张 H200",
	"How do the lengths of prompts and answers change that?": "输入与输出的长度对此有何影响？", "Qwen3-32B on two H100": "Qwen3-32B，两张 H100", "What of a chip matters: memory or network?": "芯片的哪一项更重要：显存还是网络？", "DeepSeek-V3 on 16 H200, as a map": "DeepSeek-V3，16 张 H200，热图",
	"My server measures 31 ms per token. Where is the difference?": "我的服务器实测每个 token 31 ms，差异在哪里？", "Llama-3.1-70B on eight H100 behind vLLM": "Llama-3.1-70B，八张 H100，vLLM",
}
