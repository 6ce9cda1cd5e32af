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
// the difference, and large ones, and those with a real provider, the ratio.
func BenchmarkPlan(b *testing.B) {
	for _, resources := range []int{10, 100, 1000, 3000} {
		b.Run(fmt.Sprintf("resources=%d", resources), func(b *testing.B) {
			comparePlans(b, "", nil, func(i int) string {
				return fmt.Sprintf("resource \"terraform_data\" \"r%d\" {\n  input = %d\n}\n", i, i)
			}, resources)
		})
	}
	b.Run("aws", func(b *testing.B) {
		mirror := tofutest.AWSMirror(b)
		settings := "provider_installation {\n  filesystem_mirror {\n    path = \"" + mirror + "\"\n  }\n}\n"
		comparePlans(b, settings, []string{"--provider-mirror", mirror}, func(i int) string {
			text := fmt.Sprintf("resource \"aws_ssm_parameter\" \"r%d\" {\n  name  = \"/r/%d\"\n  type  = \"String\"\n  value = \"v\"\n}\n", i, i)
			if i == 0 {
				text += awsAlone
			}
			return text
		}, 10)
	})
}

// awsAlone is a provider that plans new resources without asking anybody.
const awsAlone = `
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.47.1"
    }
  }
}
provider "aws" {
  region                      = "eu-west-1"
  access_key                  = "none"
  secret_key                  = "none"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true
}
`

// comparePlans plans a program of so many resources with tofu, which has these settings, and with yuba,
// which has these flags.
func comparePlans(b *testing.B, settings string, flags []string, resource func(i int) string, resources int) {
	dir, home := b.TempDir(), b.TempDir()
	module := filepath.Join(dir, "environments", "large")
	var program strings.Builder
	for i := range resources {
		program.WriteString(resource(i))
	}
	for path, text := range map[string]string{filepath.Join(module, "main.tf"): program.String(), filepath.Join(home, ".tofurc"): settings} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	tofu := tofutest.Tofu(b)
	env := []string{"HOME=" + home, "PATH=" + filepath.Dir(tofu) + ":/usr/bin:/bin", "CHECKPOINT_DISABLE=1"}
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
	run(dir, yuba, append([]string{"env", "init", "large"}, flags...)...)
	var plain, ours []time.Duration
	for b.Loop() {
		plain = append(plain, run(module, tofu, "plan", "-input=false", "-no-color", "-out=plain.tfplan"))
		ours = append(ours, run(dir, yuba, append([]string{"env", "plan", "large"}, flags...)...))
	}
	slices.Sort(plain)
	slices.Sort(ours)
	p, o := plain[len(plain)/2], ours[len(ours)/2]
	b.ReportMetric(float64(p.Milliseconds()), "tofu-ms")
	b.ReportMetric(float64(o.Milliseconds()), "yuba-ms")
	b.ReportMetric(float64(o)/float64(p), "ratio")
}
