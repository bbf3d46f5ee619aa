"""A gNMI client of another implementation: python3-grpcio. It sets a leaf, gets
it, and follows it until it changes.

usage: client.py FILE-OF-DESCRIPTORS ADDRESS CA USER PASSWORD
"""
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

pool = descriptor_pool.DescriptorPool()
with open(sys.argv[1], "rb") as f:
    for file in descriptor_pb2.FileDescriptorSet.FromString(f.read()).file:
        pool.Add(file)
factory = message_factory.MessageFactory(pool)


class gnmi:
    """The messages of gNMI, and numbers of its enumerations."""
    JSON_IETF, PROTO, ON_CHANGE = 4, 2, 1


for name in ("GetRequest", "GetResponse", "SetRequest", "SetResponse", "SubscribeRequest", "SubscribeResponse",
             "SubscriptionList", "Subscription", "Path", "PathElem", "Update", "TypedValue"):
    setattr(gnmi, name, factory.GetPrototype(pool.FindMessageTypeByName("gnmi." + name)))

address, ca, user, password = sys.argv[2:]
with open(ca, "rb") as f:
    credentials = grpc.ssl_channel_credentials(f.read())
channel = grpc.secure_channel(address, credentials)
who = (("username", user), ("password", password))


def rpc(kind, name, request, response):
    return kind("/gnmi.gNMI/" + name, request_serializer=request.SerializeToString,
                response_deserializer=response.FromString)


get = rpc(channel.unary_unary, "Get", gnmi.GetRequest, gnmi.GetResponse)
set_ = rpc(channel.unary_unary, "Set", gnmi.SetRequest, gnmi.SetResponse)
subscribe = rpc(channel.stream_stream, "Subscribe", gnmi.SubscribeRequest, gnmi.SubscribeResponse)

names = ("sonic-sluice", "SLUICE_FLOW_LABEL", "global", "algorithm")
path = gnmi.Path(elem=[gnmi.PathElem(name=n) for n in names])


def write(value):
    text = gnmi.TypedValue(json_ietf_val=b'"%s"' % value.encode())
    set_(gnmi.SetRequest(update=[gnmi.Update(path=path, val=text)]), metadata=who, timeout=60)


write("crc32")
answer = get(gnmi.GetRequest(path=[path], encoding=gnmi.JSON_IETF), metadata=who, timeout=60)
print("get", answer.notification[0].update[0].val.json_ietf_val.decode())

wanted = gnmi.SubscriptionList(subscription=[gnmi.Subscription(path=path, mode=gnmi.ON_CHANGE)], encoding=gnmi.PROTO)
stream = subscribe(iter([gnmi.SubscribeRequest(subscribe=wanted)]), metadata=who, timeout=60)
for message in stream:
    if message.sync_response:
        print("sync")
        write("draft-literal")
        continue
    value = message.update.update[0].val.string_val
    print("update", value)
    if value == "draft-literal":
        break

try:
    write("md5")
except grpc.RpcError as e:
    print(e.code().name, e.details())
