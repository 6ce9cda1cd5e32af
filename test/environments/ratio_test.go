// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// BenchmarkPlan compares "yuba env plan" with plain "tofu plan" on the same directory, in turns. It prints
// the medians and their ratio. What Yuba adds does not grow with the program: so small programs show
// the difference, and large ones the ratio.
func BenchmarkPlan(b *testing.B) {
	for _, resources := range []int{10, 100, 1000, 3000} {
		b.Run(fmt.Sprintf("resources=%d", resources), func(b *testing.B) {
			dir := b.TempDir()
			module := filepath.Join(dir, "environments", "large")
			if err := os.MkdirAll(module, 0o755); err != nil {
				b.Fatal(err)
			}
			var text strings.Builder
			for i := range resources {
				fmt.Fprintf(&text, "resource \"terraform_data\" \"r%d\" {\n  input = %d\n}\n", i, i)
			}
			if err := os.WriteFile(filepath.Join(module, "main.tf"), []byte(text.String()), 0o600); err != nil {
				b.Fatal(err)
			}
			tofu := tofutest.Tofu(b)
			env := []string{"HOME=" + b.TempDir(), "PATH=" + filepath.Dir(tofu) + ":/usr/bin:/bin", "CHECKPOINT_DISABLE=1"}
			run := func(dir, program string, args ...string) time.Duration {
				cmd := exec.Command(program, args...)
				cmd.Dir, cmd.Env = dir, env
				began := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%s %v: %v\n%s", program, args, err, out)
				}
				return time.Since(began)
			}
			yuba := filepath.Join(tofutest.RepositoryRoot(b), "bin", "yuba")
			run(dir, yuba, "env", "init", "large")
			var plain, ours []time.Duration
			for b.Loop() {
				plain = append(plain, run(module, tofu, "plan", "-input=false", "-no-color", "-out=plain.tfplan"))
				ours = append(ours, run(dir, yuba, "env", "plan", "large"))
			}
			slices.Sort(plain)
			slices.Sort(ours)
			p, o := plain[len(plain)/2], ours[len(ours)/2]
			b.ReportMetric(float64(p.Milliseconds()), "tofu-ms")
			b.ReportMetric(float64(o.Milliseconds()), "yuba-ms")
			b.ReportMetric(float64(o)/float64(p), "ratio")
		})
	}
}
