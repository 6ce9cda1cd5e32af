// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"
)

// question is one of a test.
func question(name string) dnsmessage.Question {
	return dnsmessage.Question{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET}
}

func TestQueriesOfOtherThanOneQuestion(t *testing.T) {
	r, _ := newTestRelay(t, &world{}, "*.example.com")
	for name, questions := range map[string][]dnsmessage.Question{"none": nil, "two": {question("a.example.com."), question("secret.example.org.")}} {
		query := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: questions}
		packed, err := query.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var reply dnsmessage.Message
		if err := reply.Unpack(r.reply(t.Context(), "udp", packed)); err != nil || reply.ID != 7 || reply.RCode != dnsmessage.RCodeFormatError {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
}

// A program can put data into every part of a query. Only the question, some flags and the size of
// replies go to the name server.
func TestQueriesAreRebuilt(t *testing.T) {
	var edns dnsmessage.ResourceHeader
	if err := edns.SetEDNS0(1232, dnsmessage.RCodeSuccess, true); err != nil {
		t.Fatal(err)
	}
	hidden := func(name string) dnsmessage.Resource {
		head := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeTXT, Class: dnsmessage.ClassINET}
		return dnsmessage.Resource{Header: head, Body: &dnsmessage.TXTResource{TXT: []string{"secret"}}}
	}
	query := dnsmessage.Message{
		Header:      dnsmessage.Header{ID: 7, RecursionDesired: true, Authoritative: true, RCode: 5},
		Questions:   []dnsmessage.Question{question("a.example.com.")},
		Answers:     []dnsmessage.Resource{hidden("secret-a.")},
		Authorities: []dnsmessage.Resource{hidden("secret-b.")},
		Additionals: []dnsmessage.Resource{hidden("secret-c."), {Header: edns, Body: &dnsmessage.OPTResource{Options: []dnsmessage.Option{{Code: 3, Data: []byte("secret")}}}}},
	}
	packed, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}
	packed = append(packed, "secret"...)
	var parser dnsmessage.Parser
	head, err := parser.Start(packed)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := parser.Question()
	if err != nil {
		t.Fatal(err)
	}
	rebuilt := rebuild(head, asked, payloadSize(&parser))
	var got dnsmessage.Message
	if err := got.Unpack(rebuilt); err != nil {
		t.Fatal(err)
	}
	var plain dnsmessage.ResourceHeader
	if err := plain.SetEDNS0(1232, dnsmessage.RCodeSuccess, false); err != nil {
		t.Fatal(err)
	}
	want := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}, Questions: query.Questions, Additionals: []dnsmessage.Resource{{Header: plain, Body: &dnsmessage.OPTResource{}}}}
	wanted, err := want.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, rebuilt); diff != "" || bytes.Contains(rebuilt, []byte("secret")) {
		t.Errorf("%q: %s", rebuilt, diff)
	}
	if size := len(rebuild(head, asked, 0)); size != len(wanted)-11 {
		t.Errorf("without EDNS: %d bytes", size)
	}
}
