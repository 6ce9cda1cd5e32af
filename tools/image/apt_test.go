// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestWhichPackagesAptInstalls(t *testing.T) {
	got := parseInstalled(`NOTE: This is only a simulation!
Inst gcc-14-base (14.2.0-19 Debian:13.1/stable [arm64])
Inst libc6 (2.41-12 Debian:13.1/stable [arm64]) []
Inst git:arm64 (1:2.47.3-0+deb13u1 Debian:13.1/stable, Debian-Security:13/stable-security [arm64])
Inst ca-certificates (20250419 Debian:13.1/stable [all])
Conf git:arm64 (1:2.47.3-0+deb13u1 Debian:13.1/stable [arm64])
`)
	want := []debianPackage{
		{name: "gcc-14-base", version: "14.2.0-19", arch: "arm64"}, {name: "libc6", version: "2.41-12", arch: "arm64"},
		{name: "git", version: "1:2.47.3-0+deb13u1", arch: "arm64"}, {name: "ca-certificates", version: "20250419", arch: "all"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// A hook of the machine would change the machine; its proxies are needed.
func TestWhichSettingsOfTheMachineAptUses(t *testing.T) {
	got := networkSettings(`Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy:3128";
Acquire::IndexTargets::deb::DEP-11::MetaKey "x";
Acquire::AllowInsecureRepositories "true";
Acquire::Check-Valid-Until "false";
APT::Update::Post-Invoke:: "touch /hook";
`)
	if want := "Acquire::http::Proxy \"http://proxy:3128\";\nAcquire::Check-Valid-Until \"false\";\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestWhereDebianComesFrom(t *testing.T) {
	for snapshot, want := range map[string]string{
		"":                 "URIs: http://deb.debian.org/debian-security\nSuites: trixie-security\n",
		"20261101T000000Z": "URIs: http://snapshot.debian.org/archive/debian-security/20261101T000000Z/\nSuites: trixie-security\n",
	} {
		if got := aptSources(snapshot); !strings.Contains(got, want) || strings.Count(got, "Signed-By: "+debianKeyring) != 2 {
			t.Errorf("%q: got\n%s", snapshot, got)
		}
	}
}
