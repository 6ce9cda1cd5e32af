// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package network

import "testing"

func TestNotices(t *testing.T) {
	for line, want := range map[string]bool{
		parsed(t, "example.com").Resolve("example.org").Error():               true,
		parsed(t, "example.com").Connect(destination("127.0.0.1:80")).Error(): true,
		"yuba-sandbox: not confined: this kernel has no Landlock":             false,
		"yuba-network: receive the tunnel: EOF":                               false,
		"panic: runtime error: index out of range [3] with length 3":          false,
		"goroutine 1 [running]:":                                              false,
		"":                                                                    false,
	} {
		if got := IsNotice(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

func TestNoticesThatExplainAFailure(t *testing.T) {
	list := parsed(t, "example.com")
	connect := func(text string) string { return list.Connect(destination(text)).Error() }
	const quota = "Error: creating EC2 VPC: api error VpcLimitExceeded: the maximum number of VPCs has been reached"
	for name, c := range map[string]struct {
		notice, failure string
		want            bool
	}{
		"a probe of the metadata service, and another failure": {connect("169.254.169.254:80"), quota, false},
		"the metadata service":                                 {connect("169.254.169.254:80"), "dial tcp 169.254.169.254:80: connect: connection refused", true},
		"its name":                                             {connect("metadata.internal=169.254.169.254:80"), "Get \"http://metadata.internal/\": connection refused", true},
		"its address, after its name":                          {connect("metadata.internal=169.254.169.254:80"), "dial tcp 169.254.169.254:80: connection refused", true},
		"a name that does not exist":                           {list.Resolve("registry.example.org").Error(), "could not connect to Registry.Example.ORG: no such host", true},
		"at the end of a sentence":                             {list.Resolve("registry.example.org").Error(), "ask registry.example.org.", true},
		"a name below":                                         {list.Resolve("example.org").Error(), "could not connect to registry.example.org", false},
		"a name that begins the same":                          {list.Resolve("example.org").Error(), "example.org.evil.com and example.organic", false},
		"a second place":                                       {list.Resolve("example.org").Error(), "my-example.org, and example.org:443", true},
		"a longer address":                                     {connect("10.0.0.1:443"), "dial tcp 10.0.0.11:443: i/o timeout", false},
		"IPv6":                                                 {connect("[2606:4700::1]:443"), "dial tcp [2606:4700::1]:443: connection refused", true},
		"a longer address of IPv6":                             {connect("[::1]:443"), "dial tcp [fe80::1]:443: connection refused", false},
		"datagrams":                                            {connect("time.example.org=192.0.2.9:123/udp"), "read udp 192.0.2.9:123: connection refused", true},
		"a dead relay":                                         {Ended + "yuba-network stopped", quota, true},
		"too many connections":                                 {"the network of runs allows 512 connections of a program at a time; more are refused", quota, true},
		"a number of others":                                   {"the network of runs refused 12 further attempts", quota, false},
		"other output":                                         {"panic: oh no", "panic: oh no", false},
	} {
		if got := Explains(c.notice, c.failure); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
