// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"github.com/yuba-dev/yuba/internal/runs/network"
)

const (
	// queryIdle is how long a client of the resolver may pause.
	queryIdle = 10 * time.Second
	// maxAddresses are those of one answer, which then fits into 512 bytes for usual names.
	maxAddresses = 8
)

// Types of records that package dnsmessage does not have.
const (
	typeSVCB  = dnsmessage.Type(64)
	typeHTTPS = dnsmessage.Type(65)
)

// queryDatagrams answers queries over UDP. Programs use a new port for each, so they all come to one
// endpoint.
func (r *relay) queryDatagrams(ctx context.Context, conn *gonet.UDPConn) {
	piece := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFrom(piece)
		if err != nil {
			return
		}
		if !take(r.queries) {
			continue // the client asks again
		}
		query := bytes.Clone(piece[:n])
		go func() {
			defer func() { <-r.queries }()
			if reply := r.reply(ctx, "udp", query); reply != nil {
				_, _ = conn.WriteTo(reply, from) // the client asks again
			}
		}()
	}
}

// queryStream answers queries over TCP.
func (r *relay) queryStream(ctx context.Context, request *tcp.ForwarderRequest) {
	if !take(r.queries) {
		request.Complete(true)
		return
	}
	defer func() { <-r.queries }()
	var queue waiter.Queue
	endpoint, problem := request.CreateEndpoint(&queue)
	request.Complete(problem != nil)
	if problem != nil {
		return
	}
	conn := gonet.NewTCPConn(&queue, endpoint)
	defer conn.Close()
	for conn.SetDeadline(time.Now().Add(queryIdle)) == nil {
		query, err := readMessage(conn)
		if err != nil {
			return
		}
		reply := r.reply(ctx, "tcp", query)
		if reply == nil || writeMessage(conn, reply) != nil {
			return
		}
	}
}

// readMessage reads a message after its length, as DNS over TCP has it.
func readMessage(from io.Reader) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(from, message)
	return message, err
}

func writeMessage(to io.Writer, message []byte) error {
	_, err := to.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)) //nolint:gosec // replies are short
	return err
}

// reply answers a query; nil for something else.
func (r *relay) reply(ctx context.Context, protocol string, query []byte) []byte {
	var parser dnsmessage.Parser
	head, err := parser.Start(query)
	if err != nil || head.Response {
		return nil
	}
	const counted = 4 // where a message has the number of its questions
	if binary.BigEndian.Uint16(query[counted:]) != 1 {
		return malformed(head)
	}
	question, err := parser.Question()
	if err != nil {
		return malformed(head)
	}
	if head.OpCode != 0 || question.Class != dnsmessage.ClassINET {
		return compose(head, question, dnsmessage.RCodeNotImplemented, nil)
	}
	name := strings.ToLower(strings.TrimSuffix(question.Name.String(), "."))
	if !network.IsName(name) {
		return compose(head, question, dnsmessage.RCodeNameError, nil)
	}
	if refusal := r.list.Resolve(name); refusal != nil {
		if question.Type != dnsmessage.TypePTR { // programs ask for the names of addresses only to show them
			r.report.refused(refusal)
		}
		return compose(head, question, dnsmessage.RCodeNameError, nil)
	}
	switch question.Type {
	case dnsmessage.TypeA, dnsmessage.TypeAAAA:
		addresses, code := r.resolve(ctx, name, question.Type == dnsmessage.TypeAAAA)
		return compose(head, question, code, addresses)
	case typeSVCB, typeHTTPS: // they contain addresses; without them programs ask for A and AAAA
		return compose(head, question, dnsmessage.RCodeSuccess, nil)
	case dnsmessage.TypeALL, dnsmessage.TypeAXFR:
		return compose(head, question, dnsmessage.RCodeNotImplemented, nil)
	}
	if reply := upstream(ctx, protocol, rebuild(head, question, payloadSize(&parser))); reply != nil {
		return reply
	}
	return compose(head, question, dnsmessage.RCodeServerFailure, nil)
}

// malformed answers a query that is not one question.
func malformed(query dnsmessage.Header) []byte {
	reply := dnsmessage.Message{Header: answering(query, dnsmessage.RCodeFormatError)}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// payloadSize is how many bytes of a reply over UDP the client takes; 0 if the query does not say.
func payloadSize(parser *dnsmessage.Parser) int {
	if errors.Join(parser.SkipAllQuestions(), parser.SkipAllAnswers(), parser.SkipAllAuthorities()) != nil {
		return 0
	}
	for {
		head, err := parser.AdditionalHeader()
		if err != nil {
			return 0
		}
		if head.Type == dnsmessage.TypeOPT {
			return int(head.Class)
		}
		if parser.SkipAdditional() != nil {
			return 0
		}
	}
}

// rebuild writes a query of the question alone: the other bytes of a program's query were not checked,
// and would carry data to name servers that no entry allows.
func rebuild(head dnsmessage.Header, question dnsmessage.Question, payload int) []byte {
	query := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: head.ID, RecursionDesired: head.RecursionDesired, CheckingDisabled: head.CheckingDisabled, AuthenticData: head.AuthenticData},
		Questions: []dnsmessage.Question{question},
	}
	if payload > 0 {
		var edns dnsmessage.ResourceHeader
		if edns.SetEDNS0(payload, dnsmessage.RCodeSuccess, false) == nil {
			query.Additionals = []dnsmessage.Resource{{Header: edns, Body: &dnsmessage.OPTResource{}}}
		}
	}
	packed, err := query.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// resolve returns the addresses of a name that programs may get.
func (r *relay) resolve(ctx context.Context, name string, six bool) ([]netip.Addr, dnsmessage.RCode) {
	found, err := r.names.resolve(ctx, name)
	switch {
	case missing(err):
		return nil, dnsmessage.RCodeNameError
	case err != nil:
		return nil, dnsmessage.RCodeServerFailure
	}
	var allowed []netip.Addr
	refused := false
	for _, address := range found {
		if refusal := r.list.Answer(name, address, r.own.has(address)); refusal != nil {
			r.report.refused(refusal)
			refused = true
			continue
		}
		if address.Is6() != six || len(allowed) == maxAddresses {
			continue
		}
		allowed = append(allowed, address)
		r.names.pin(address, name)
	}
	if refused && len(allowed) == 0 {
		return nil, dnsmessage.RCodeNameError
	}
	return allowed, dnsmessage.RCodeSuccess
}

// answering is the header of a reply.
func answering(query dnsmessage.Header, code dnsmessage.RCode) dnsmessage.Header {
	return dnsmessage.Header{ID: query.ID, Response: true, OpCode: query.OpCode, RecursionDesired: query.RecursionDesired, RecursionAvailable: true, RCode: code}
}

// compose writes a reply.
func compose(query dnsmessage.Header, question dnsmessage.Question, code dnsmessage.RCode, addresses []netip.Addr) []byte {
	message := dnsmessage.Message{Header: answering(query, code), Questions: []dnsmessage.Question{question}}
	for _, a := range addresses {
		record := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: dnsmessage.ClassINET, TTL: uint32(answerLife.Seconds())}}
		if a.Is4() {
			record.Body = &dnsmessage.AResource{A: a.As4()}
		} else {
			record.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		}
		message.Answers = append(message.Answers, record)
	}
	reply, err := message.Pack()
	if err != nil {
		return nil
	}
	return reply
}
