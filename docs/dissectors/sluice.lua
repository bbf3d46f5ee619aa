-- SPDX-License-Identifier: Apache-2.0

-- Wireshark dissectors of PFCM, PPFC and Rate Advice, and of the IPFIX elements of
-- RoCEv2. They run after Wireshark's own dissectors and add to what those found, so
-- that headers, checksums and the BTH remain as they are. The names of the fields are
-- those of `sluice decode --json`. The code points are preferences.

local pfcm = Proto("pfcm", "Precision Flow Control Message (draft-yang-srv6-precision-flow-control-00)")
pfcm.prefs.icmpv6_type = Pref.uint("ICMPv6 type", 200, "0 to 255")
pfcm.prefs.option_type = Pref.uint("IPv6 option type", 30, "0 to 255")
local pfcm_fields = {
	encapsulation = ProtoField.string("pfcm.encapsulation", "Encapsulation"),
	stream_id = ProtoField.uint16("pfcm.stream_id", "Stream ID"),
	queue_id = ProtoField.uint8("pfcm.queue_id", "Queue ID"),
	action = ProtoField.string("pfcm.action", "Action"),
	reduction_percent = ProtoField.uint8("pfcm.reduction_percent", "Reduction (%)"),
	time_us = ProtoField.uint16("pfcm.time_us", "Precision Flow Ctrl Time (us)"),
	destination = ProtoField.ipv6("pfcm.destination", "Destination of the congested packet"),
	source = ProtoField.ipv6("pfcm.source", "Source of the congested packet"),
}
pfcm.fields = pfcm_fields

local ppfc = Proto("ppfc", "Per-flow PFC Notification (draft-xz-rtgwg-ppfc-notification-00)")
ppfc.prefs.icmpv6_type = Pref.uint("ICMPv6 type", 201, "0 to 255")
ppfc.prefs.icmpv4_type = Pref.uint("ICMPv4 type", 253, "0 to 255")
ppfc.prefs.udp_port = Pref.uint("UDP destination port", 1021, "1 to 65535")
local ppfc_fields = {
	transport = ProtoField.string("ppfc.transport", "Transport"),
	flags = ProtoField.uint8("ppfc.flags", "Flags"),
	pt = ProtoField.string("ppfc.pt", "PT"),
	priority = ProtoField.uint8("ppfc.priority", "Priority"),
	congestion_port = ProtoField.uint16("ppfc.congestion_port", "Congestion Port"),
	congestion_qid = ProtoField.uint16("ppfc.congestion_qid", "Congestion QID"),
	pause_duration_us = ProtoField.uint16("ppfc.pause_duration_us", "Pause Duration (us)"),
	source = ProtoField.ipv6("ppfc.source", "Source"),
	destination = ProtoField.ipv6("ppfc.destination", "Destination"),
	router_id = ProtoField.ipv6("ppfc.router_id", "Router Identifier"),
	source_v4 = ProtoField.ipv4("ppfc.source_v4", "Source"),
	destination_v4 = ProtoField.ipv4("ppfc.destination_v4", "Destination"),
	router_id_v4 = ProtoField.ipv4("ppfc.router_id_v4", "Router Identifier"),
	flow = ProtoField.string("ppfc.flow", "Flow Identifier"),
	flow_word = ProtoField.uint32("ppfc.flow_word", "Word of figure 2"),
	flow_protocol = ProtoField.uint8("ppfc.flow_protocol", "Protocol"),
	flow_sport = ProtoField.uint16("ppfc.flow_sport", "Source Port"),
	flow_dport = ProtoField.uint16("ppfc.flow_dport", "Destination Port"),
	flow_src_qp = ProtoField.uint32("ppfc.flow_src_qp", "Source QP"),
	flow_dst_qp = ProtoField.uint32("ppfc.flow_dst_qp", "Destination QP"),
}
ppfc.fields = ppfc_fields

local advice = Proto("rate_advice", "Rate Advice (draft-zz-scone-rate-advice-rocev2-00)")
advice.prefs.opcode = Pref.uint("BTH opcode", 0xc5, "0 to 255")
local advice_fields = {
	pkey = ProtoField.uint16("rate_advice.pkey", "P_Key", base.HEX_DEC),
	dest_qp = ProtoField.uint24("rate_advice.dest_qp", "Destination QP of the BTH"),
	rate_mbps = ProtoField.uint32("rate_advice.rate_mbps", "Rate (Mbit/s)"),
	version = ProtoField.uint32("rate_advice.version", "Version"),
	destination_qp = ProtoField.uint32("rate_advice.destination_qp", "Destination QP"),
	source_qp = ProtoField.uint32("rate_advice.source_qp", "Source QP"),
}
advice.fields = advice_fields

local ipfix = Proto("sluice_ipfix", "IPFIX elements of RoCEv2 (draft-lin-opsawg-ipfix-rocev2-00)")
ipfix.prefs.pen = Pref.uint("Private enterprise number", 32473, "of the elements")
ipfix.prefs.first_element = Pref.uint("Id of the first element", 1, "the others follow")

-- The elements in the order of their ids.
local elements = {
	"rdmaOpCode", "rdmaPartitionKey", "rdmaDestinationQP", "rdmaSourceQP", "rdmaPacketSequenceNumber",
	"rdmaBTHFlags1", "rdmaBTHFlags2", "rdmaBTHFlags3", "ceOctetDeltaCount", "cePacketDeltaCount",
	"rdmaSourceQPProvenance", "rdmaSourceAddress", "rdmaDestinationAddress", "rdmaSendPacketDeltaCount",
	"rdmaWritePacketDeltaCount", "rdmaReadRequestPacketDeltaCount", "rdmaReadResponsePacketDeltaCount",
	"rdmaAcknowledgePacketDeltaCount", "rdmaAtomicPacketDeltaCount", "rdmaNotificationPacketDeltaCount",
	"cePacketTotalCount", "rdmaAcknowledgeTotalCount", "rdmaNotificationTotalCount",
	"rdmaReceiverNotReadyTotalCount", "rdmaSequenceErrorTotalCount", "rdmaAccessErrorTotalCount",
	"rdmaOtherErrorTotalCount", "rdmaPayloadOctetTotalCount", "rdmaGapTotalCount",
	"rdmaMissingPacketTotalCount", "rdmaLostPacketCount", "rdmaReorderedPacketCount",
	"rdmaRecoveredPacketTotalCount", "rdmaDuplicatePacketTotalCount",
	"rdmaRetransmittedOctetTotalCount", "rdmaMessageTotalCount", "rdmaStallTotalCount",
	"rdmaStallTotalNanoseconds", "rdmaRoundTripMedianNanoseconds", "rdmaRoundTripP99Nanoseconds",
	"rdmaInvalidPacketDeltaCount",
}
local ipfix_fields = {}
for _, name in ipairs(elements) do
	local kind = name:find("Address$") and ProtoField.ipv6 or ProtoField.uint64
	ipfix_fields[name] = kind("sluice_ipfix." .. name, name)
end
ipfix.fields = ipfix_fields

-- What Wireshark's own dissectors found.
local icmpv6, icmpv6_type = Field.new("icmpv6"), Field.new("icmpv6.type")
local icmp, icmp_type = Field.new("icmp"), Field.new("icmp.type")
local option_type, hop_by_hop = Field.new("ipv6.opt.type"), Field.new("ipv6.hopopts")
local udp_port, udp_length = Field.new("udp.dstport"), Field.new("udp.length")
local ip, ip_len, ipv6, ipv6_plen = Field.new("ip"), Field.new("ip.len"), Field.new("ipv6"), Field.new("ipv6.plen")
local opcode = Field.new("infiniband.bth.opcode")
local netflow_version = Field.new("cflow.version")

-- octets returns n octets of the buffer that a found field is in, from an offset
-- relative to the field; nil: there are not so many.
local function octets(field, offset, n)
	local buffer, at = field.source, field.offset + offset
	if at < 0 or n < 0 or at + n > buffer:len() then
		return nil
	end
	return buffer(at, n)
end

-- whole says whether an IP packet ends where a UDP datagram does that begins at a field: with
-- two different lengths the form of a message is open.
local function whole(field, before, length)
	local ends = field.offset - before + length
	for i, header in ipairs({ ip() }) do
		if header.offset + select(i, ip_len()).value == ends then
			return true
		end
	end
	for i, header in ipairs({ ipv6() }) do
		if header.offset + 40 + select(i, ipv6_plen()).value == ends then
			return true
		end
	end
	return false
end

local function pfcm_body(range, tree, form, streams, addresses)
	local f = pfcm_fields
	local branch = tree:add(pfcm, range)
	local action = range(streams + 3, 1)
	local kind = bit.rshift(action:uint(), 6)
	branch:add(f.encapsulation, range, form)
	branch:add(f.stream_id, range(streams, 2))
	branch:add(f.queue_id, range(streams + 2, 1))
	branch:add(f.action, action, ({ [0] = "cancel", "pause", "reduce", "reserved" })[kind])
	branch:add(f.reduction_percent, action, ({ [0] = 0, 100 })[kind] or bit.band(action:uint(), 63))
	branch:add(f.time_us, range(streams + 4, 2))
	branch:add(f.destination, range(addresses, 16))
	branch:add(f.source, range(addresses + 16, 16))
end

function pfcm.dissector(_, _, tree)
	for i, type in ipairs({ icmpv6_type() }) do
		local message = select(i, icmpv6())
		if type.value == pfcm.prefs.icmpv6_type and message and message.len == 44 then
			pfcm_body(octets(type, 0, 44), tree, "icmpv6", 6, 12)
		end
	end
	for _, type in ipairs({ option_type() }) do
		local option = octets(type, 0, 44)
		if type.value == pfcm.prefs.option_type and option and option(1, 1):uint() == 42 then
			pfcm_body(option, tree, hop_by_hop() and "hop-by-hop" or "destination-options", 4, 12)
		end
	end
end

local function ppfc_body(range, tree, transport, at, size)
	local f, v4 = ppfc_fields, size == 4 and "_v4" or ""
	local identifier = at + 8 + (transport == "icmp" and 3 or 2) * size
	local form = ({ [0] = "all", [4] = "word", [8] = "ports", [16] = "qps" })[range:len() - identifier]
	if not form then
		return
	end
	local branch = tree:add(ppfc, range)
	local flags = range(at, 1)
	branch:add(f.transport, range, transport)
	branch:add(f.flags, flags, bit.rshift(flags:uint(), 2))
	branch:add(f.pt, flags, ({ [0] = "stop", "resume", "alarm", "hold" })[bit.band(flags:uint(), 3)])
	branch:add(f.priority, range(at + 1, 1))
	branch:add(transport == "icmp" and f.congestion_port or f.congestion_qid, range(at + 2, 2))
	branch:add(f.pause_duration_us, range(at + 6, 2))
	branch:add(f["source" .. v4], range(at + 8, size))
	branch:add(f["destination" .. v4], range(at + 8 + size, size))
	if transport == "icmp" then
		branch:add(f["router_id" .. v4], range(at + 8 + 2 * size, size))
	end
	branch:add(f.flow, range, form)
	if form == "word" then
		branch:add(f.flow_word, range(identifier, 4))
	elseif form ~= "all" then
		branch:add(f.flow_protocol, range(identifier, 1))
		branch:add(f.flow_sport, range(identifier + 4, 2))
		branch:add(f.flow_dport, range(identifier + 6, 2))
	end
	if form == "qps" then
		branch:add(f.flow_src_qp, range(identifier + 8, 4))
		branch:add(f.flow_dst_qp, range(identifier + 12, 4))
	end
end

function ppfc.dissector(_, pinfo, tree)
	for i, type in ipairs({ icmpv6_type() }) do
		local message = select(i, icmpv6())
		if type.value == ppfc.prefs.icmpv6_type and message and message.len >= 60 then
			ppfc_body(octets(type, 0, message.len), tree, "icmp", 4, 16)
		end
	end
	for i, type in ipairs({ icmp_type() }) do
		local message = select(i, icmp())
		if type.value == ppfc.prefs.icmpv4_type and message and message.len >= 24 then
			ppfc_body(octets(type, 0, message.len), tree, "icmp", 4, 4)
		end
	end
	for i, port in ipairs({ udp_port() }) do
		local size = tostring(pinfo.net_dst):find(":") and 16 or 4
		local length = select(i, udp_length()).value
		local message = octets(port, -2, length)
		if port.value == ppfc.prefs.udp_port and message and length >= 16 + 2 * size and whole(port, 2, length) then
			ppfc_body(message, tree, "udp", 8, size)
		end
	end
end

function advice.dissector(_, _, tree)
	local f = advice_fields
	for _, code in ipairs({ opcode() }) do
		local message = octets(code, 0, 32)
		if code.value == advice.prefs.opcode and message and whole(code, 8, 40) then
			local branch = tree:add(advice, message)
			branch:add(f.pkey, message(2, 2))
			branch:add(f.dest_qp, message(5, 3))
			branch:add(f.rate_mbps, message(12, 4))
			branch:add(f.version, message(16, 4))
			branch:add(f.destination_qp, message(20, 4))
			branch:add(f.source_qp, message(24, 4))
		end
	end
end

-- templates has, by session and template id, the fields of a record: {pen, id, length}.
local templates = {}

function ipfix.init()
	templates = {}
end

-- learn reads a set of templates (RFC 7011 section 3.4).
local function learn(set, session, options)
	local at = 4
	while at + 4 <= set:len() do
		local id, count = set(at, 2):uint(), set(at + 2, 2):uint()
		at = at + ((options and count > 0) and 6 or 4) -- the number of scope fields
		local fields = {}
		for _ = 1, count do
			if at + 4 > set:len() then
				return
			end
			local element, length, pen = set(at, 2):uint(), set(at + 2, 2):uint(), 0
			at = at + 4
			if element >= 0x8000 then
				if at + 4 > set:len() then
					return
				end
				element, pen, at = element - 0x8000, set(at, 4):uint(), at + 4
			end
			fields[#fields + 1] = { pen = pen, id = element, length = length }
		end
		if id >= 256 then
			templates[session .. id] = fields
		end
	end
end

-- show adds the elements of a data set, a branch a record that has some.
local function show(set, fields, tree)
	local at = 4
	while #fields > 0 do
		local start, found = at, {}
		for _, field in ipairs(fields) do
			local length = field.length
			if length == 65535 then -- variable: RFC 7011 section 7
				if at + 3 > set:len() then
					return
				end
				length, at = set(at, 1):uint(), at + 1
				if length == 255 then
					length, at = set(at, 2):uint(), at + 2
				end
			end
			if at + length > set:len() then
				return -- padding
			end
			local name = elements[field.id - ipfix.prefs.first_element + 1]
			if field.pen == ipfix.prefs.pen and name and (length == 16) == (name:find("Address$") ~= nil) and (length == 16 or length > 0 and length <= 8) then
				found[#found + 1] = { name, set(at, length) }
			end
			at = at + length
		end
		if at == start then
			return
		end
		if #found > 0 then
			local branch = tree:add(ipfix, set(start, at - start))
			for _, one in ipairs(found) do
				if one[2]:len() == 16 then
					branch:add(ipfix_fields[one[1]], one[2])
				else
					branch:add(ipfix_fields[one[1]], one[2], one[2]:uint64())
				end
			end
		end
	end
end

function ipfix.dissector(_, pinfo, tree)
	for _, version in ipairs({ netflow_version() }) do
		local header = version.value == 10 and octets(version, 0, 16)
		local message = header and octets(version, 0, header(2, 2):uint())
		if message then
			local session = table.concat({ tostring(pinfo.src), tostring(pinfo.src_port), tostring(pinfo.dst),
				tostring(pinfo.dst_port), header(12, 4):uint(), "" }, " ")
			local at = 16
			while at + 4 <= message:len() do
				local id, length = message(at, 2):uint(), message(at + 2, 2):uint()
				if length < 4 or at + length > message:len() then
					break
				end
				local set = message(at, length)
				if id == 2 or id == 3 then
					learn(set, session, id == 3)
				elseif templates[session .. id] then
					show(set, templates[session .. id], tree)
				end
				at = at + length
			end
		end
	end
end

for _, proto in ipairs({ pfcm, ppfc, advice, ipfix }) do
	register_postdissector(proto)
end
