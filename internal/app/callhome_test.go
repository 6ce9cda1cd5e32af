// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"
)

func TestCallHomeOptions(t *testing.T) {
	for _, test := range []struct {
		options    CallHomeOptions
		base, want string
	}{
		{CallHomeOptions{}, "", ""},
		{CallHomeOptions{Address: "192.0.2.1:7448"}, "https://192.0.2.1:7448", ""},
		{CallHomeOptions{Address: "0.0.0.0:7448", URL: "https://yuba.example.com"}, "https://yuba.example.com", ""},
		{CallHomeOptions{Address: "0.0.0.0:7448"}, "", "is every address of this machine"},
		{CallHomeOptions{Address: ":7448"}, "", "is every address of this machine"},
		{CallHomeOptions{Address: "192.0.2.1:0"}, "", "want a port"},
		{CallHomeOptions{Address: "7448"}, "", "want HOST:PORT"},
		{CallHomeOptions{URL: "https://yuba.example.com"}, "", "want --call-home-address, too"},
		{CallHomeOptions{Address: "192.0.2.1:7448", URL: "http://yuba.example.com"}, "", "want https://HOST"},
		{CallHomeOptions{Address: "192.0.2.1:7448", URL: "https://yuba.example.com/path"}, "", "want https://HOST"},
	} {
		err := test.options.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.options, err, test.want)
		}
		if err == nil && test.options.Base() != test.base {
			t.Errorf("%+v: the base is %q", test.options, test.options.Base())
		}
	}
}
