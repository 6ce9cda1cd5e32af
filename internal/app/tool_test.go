// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWhichToolIsTaken(t *testing.T) {
	const says = `echo '{"terraform_version": "%s"}'`
	version := func(v string) string { return strings.Replace(says, "%s", v, 1) }
	for sentence, test := range map[string]struct {
		programs map[string]string
		wanted   string
		version  string
		problem  string
	}{
		"tofu on PATH":                           {map[string]string{"tofu": version("1.12.6"), "terraform": version("1.14.0"), "yuba-sandbox": "", "yuba-runner": ""}, "", "1.12.6", ""},
		"terraform when there is no tofu":        {map[string]string{"terraform": version("1.14.0"), "yuba-sandbox": "", "yuba-runner": ""}, "", "1.14.0", ""},
		"the one that was named":                 {map[string]string{"tofu": version("1.12.6"), "other": version("1.13.0"), "yuba-sandbox": "", "yuba-runner": ""}, "other", "1.13.0", ""},
		"a candidate of the oldest":              {map[string]string{"tofu": version("1.5.0-rc1"), "yuba-sandbox": "", "yuba-runner": ""}, "", "1.5.0-rc1", ""},
		"one of the directory of tools":          {map[string]string{"tools/tofu-1.11.0": version("1.11.0"), "tools/tofu/1.12.1/tofu": version("1.12.1"), "yuba-sandbox": "", "yuba-runner": ""}, "", "1.12.1", ""},
		"none at all: how to get one":            {map[string]string{"yuba-sandbox": "", "yuba-runner": ""}, "", "", "make tofu\n    yuba up --tofu PATH"},
		"one was named that is not there":        {map[string]string{"tofu": version("1.12.6"), "yuba-sandbox": "", "yuba-runner": ""}, "other", "", "Set the program with --tofu"},
		"too old":                                {map[string]string{"tofu": version("1.4.7"), "yuba-sandbox": "", "yuba-runner": ""}, "", "", "is version 1.4.7, which is too old: Yuba needs 1.5 or newer"},
		"something that answers no version":      {map[string]string{"tofu": "echo hello", "yuba-sandbox": "", "yuba-runner": ""}, "", "", "read the version of"},
		"something that answers a wrong one":     {map[string]string{"tofu": version("new"), "yuba-sandbox": "", "yuba-runner": ""}, "", "", `it says "new"`},
		"something that fails":                   {map[string]string{"tofu": "exit 3", "yuba-sandbox": "", "yuba-runner": ""}, "", "", "exit status 3"},
		"without the program that comes with us": {map[string]string{"tofu": version("1.12.6")}, "", "", "yuba-sops together"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			for name, script := range test.programs {
				program(t, dir, name, script)
			}
			t.Setenv("PATH", dir)
			got, err := findTool(t.Context(), &Common{Tofu: test.wanted}, filepath.Join(dir, "tools"))
			if test.problem != "" {
				if err == nil || !strings.Contains(err.Error(), test.problem) {
					t.Errorf("got %v, want %q", err, test.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.version != test.version || !filepath.IsAbs(got.path) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A wrapper may leave a child, such as an agent, that holds what the wrapper wrote to.
func TestAWrapperThatLeavesAChildDoesNotHoldTheStart(t *testing.T) {
	dir := t.TempDir()
	path := program(t, dir, "wrapper", `/bin/sleep 600 & echo $! >`+filepath.Join(dir, "child")+"\n"+`echo '{"terraform_version": "1.12.6"}'`)
	t.Cleanup(func() {
		text, err := os.ReadFile(filepath.Join(dir, "child"))
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
	ended := make(chan error, 1)
	go func() {
		_, err := toolVersion(t.Context(), path)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "left a process that holds its output") {
			t.Errorf("error %v", err)
		}
	case <-time.After(45 * time.Second):
		t.Error("no answer after the 30 seconds that a tool is given")
	}
}

func TestWhichAddressesAreListenedOn(t *testing.T) {
	for address, test := range map[string]struct {
		allowed bool
		problem string
	}{
		"127.0.0.1:7443": {}, "127.8.9.1:0": {}, "[::1]:7443": {}, "localhost:7443": {},
		"0.0.0.0:7443":     {problem: "--allow-non-loopback"},
		":7443":            {problem: "--allow-non-loopback"},
		"192.0.2.1:7443":   {problem: "--allow-non-loopback"},
		"yuba.example:443": {problem: "--allow-non-loopback"},
		"[::]:7443":        {allowed: true},
		"127.0.0.1":        {problem: "expected HOST:PORT"},
		"":                 {allowed: true, problem: "expected HOST:PORT"},
	} {
		err := checkAddress("--api-address", address, test.allowed, quiet())
		if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%q: got %v, want %q", address, err, test.problem)
		}
	}
}
