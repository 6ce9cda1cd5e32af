// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"testing"

	server "github.com/yuba-dev/yuba/internal/app"
)

// Someone who replaces the program keeps the variables, and finds the registry where it was.
func TestAddressWithVariablesOfBoringRegistry(t *testing.T) {
	for sentence, test := range map[string]struct {
		variables map[string]string
		flag      string
		want      string
		open      bool
	}{
		"boring-registry's port, for this machine": {map[string]string{"STORAGE_S3_BUCKET": "b"}, "", "127.0.0.1:5601", false},
		"its variable":                    {map[string]string{"STORAGE_S3_BUCKET": "b", "LISTEN_ADDRESS": "127.0.0.1:80"}, "", "127.0.0.1:80", true},
		"a flag wins":                     {map[string]string{"LISTEN_ADDRESS": ":80"}, "127.0.0.1:90", "127.0.0.1:90", false},
		"without variables, it is Yuba's": {nil, "", "127.0.0.1:7447", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := server.ServeRegistryOptions{}
			o.Address = "127.0.0.1:7447"
			if test.flag != "" {
				o.Address = test.flag
			}
			b, err := readBoring(func(name string) (string, bool) {
				value, ok := test.variables[name[len(boringPrefix):]]
				return value, ok
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			b.applyTo(&o, func(name string) bool { return name == "address" && test.flag != "" })
			if o.Address != test.want || o.AllowNonLoopback != test.open {
				t.Errorf("%q, others may reach it: %v", o.Address, o.AllowNonLoopback)
			}
		})
	}
}

// Who reads the mirror there without a token reads it here, too.
func TestMirrorWithVariablesOfBoringRegistry(t *testing.T) {
	for sentence, test := range map[string]struct {
		variables map[string]string
		flag      string
		want      server.RegistryOptions
	}{
		"only what the bucket has":           {map[string]string{"NETWORK_MIRROR": "true"}, "", server.RegistryOptions{AnonymousRead: true, MirrorOffline: true}},
		"pull-through":                       {map[string]string{"NETWORK_MIRROR_PULL_THROUGH": "true"}, "", server.RegistryOptions{AnonymousRead: true, MirrorAllow: []string{"*/*/*"}}},
		"pull-through, and a list by a flag": {map[string]string{"NETWORK_MIRROR_PULL_THROUGH": "true"}, "mirror-allow", server.RegistryOptions{AnonymousRead: true}},
		"pull-through, with tokens":          {map[string]string{"NETWORK_MIRROR_PULL_THROUGH": "true", "AUTH_STATIC_TOKEN": "a"}, "", server.RegistryOptions{}},
		"pull-through, and tokens in a file": {map[string]string{"NETWORK_MIRROR_PULL_THROUGH": "true"}, "tokens", server.RegistryOptions{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			b, err := readBoring(func(name string) (string, bool) {
				value, ok := test.variables[name[len(boringPrefix):]]
				return value, ok
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			o := server.ServeRegistryOptions{}
			b.applyTo(&o, func(name string) bool { return name == test.flag })
			if o.AnonymousRead != test.want.AnonymousRead || o.MirrorOffline != test.want.MirrorOffline || !slices.Equal(o.MirrorAllow, test.want.MirrorAllow) {
				t.Errorf("%+v", o.RegistryOptions)
			}
		})
	}
}
