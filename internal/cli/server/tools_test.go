// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/opentofu"
)

func TestKeptTools(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	kept := now.Add(-2 * time.Hour)
	l := listedKept(content.KeptTools{Items: []opentofu.Version{
		{Tool: "tofu", Version: "1.12.6", From: "https://github.com/opentofu", By: "stack team/vpc", Kept: &kept, Files: []opentofu.KeptFile{
			{Name: "tofu_1.12.6_SHA256SUMS", Size: 1 << 10}, {Name: "tofu_1.12.6_linux_amd64.zip", Size: 30 << 20, SHA256: "ab"},
			{Name: "tofu_1.12.6_darwin_arm64.tar.gz", Size: 30 << 20, SHA256: "cd"}}},
		{Tool: "terraform", Version: "1.5.7", Files: []opentofu.KeptFile{{Name: "terraform_1.5.7_SHA256SUMS.sig", Size: 10}}},
	}}, now)
	var lines []string
	for _, row := range l.Rows[1:] {
		lines = append(lines, strings.Join(row, " | "))
	}
	want := "tofu | 1.12.6 | linux_amd64,darwin_arm64 | 60 MiB | https://github.com/opentofu | stack team/vpc | 2h ago | ab,cd\n" +
		"terraform | 1.5.7 |  | 10 B | - | - | - | "
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
