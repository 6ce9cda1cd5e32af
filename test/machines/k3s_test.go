// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const server = "token: t\nnode-name: n\nnode-ip: 10.0.0.1\ncluster-init: true\ncluster-cidr: 10.42.0.0/16\nservice-cidr: 10.43.0.0/16\n"

// The stand-in refuses what k3s refuses, and what it cannot do itself.
func TestOptionsOfK3s(t *testing.T) {
	for text, want := range map[string]string{
		server: "",
		server + "etcd-arg: [quota-backend-bytes=1073741824]\n": "",
		server + "etcd-arg: [quota-backend-bytes=1GB]\n":        "want quota-backend-bytes and a number",
		server + "flannel-backend: calico\n":                    "k3s has none",
		server + "disabled: [traefik]\n":                        `unknown field "disabled"`,
		server + "server: https://10.0.0.2:6443\n":              "has one control plane",
		strings.Replace(server, "token: t\n", "", 1):            "want token",
		strings.Replace(server, "10.43.0.0/16", "x", 1):         "service-cidr",
	} {
		err := check("server", text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"token: t\nnode-name: n\nnode-ip: 10.0.0.2\nserver: https://10.0.0.1:6443\n": "",
		"token: t\nnode-name: n\nnode-ip: 10.0.0.2\nserver: http://10.0.0.1:6443\n":  "want https",
		"token: t\nnode-name: n\nnode-ip: 10.0.0.2\n":                                "want https",
	} {
		err := check("agent", text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func check(verb, text string) error {
	var c k3sConfig
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return err
	}
	_, err := c.node(verb)
	return err
}

// All machines of a cluster derive the same authority, and another token another one.
func TestTheAuthorityIsThatOfTheToken(t *testing.T) {
	var certificates [][]byte
	for _, token := range []string{"one", "one", "two"} {
		a, err := newAuthority(token, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(a.file("ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		certificates = append(certificates, text)
	}
	if !bytes.Equal(certificates[0], certificates[1]) || bytes.Equal(certificates[0], certificates[2]) {
		t.Error("the authority is not a function of the token")
	}
}

func TestCloudConfigsWithUnknownKeysAreRefused(t *testing.T) {
	for _, text := range []string{"#!/bin/sh\n", "#cloud-config\npackages: [curl]\n", "#cloud-config\nwrite_files: [{path: /a, defer: true}]\n"} {
		if err := cloudInit([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	file := cloudFile{Path: filepath.Join(t.TempDir(), "a", "b"), Content: "x", Permissions: "0640"}
	if err := file.write(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file.Path)
	if err != nil || info.Mode() != 0o640 {
		t.Error(info.Mode(), err)
	}
	if err := (cloudFile{Path: "/a", Permissions: "rw"}).write(); err == nil {
		t.Error("a mode that is no number is accepted")
	}
}
